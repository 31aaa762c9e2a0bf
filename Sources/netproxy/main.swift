print("netproxy")
