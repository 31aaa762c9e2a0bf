"""Writes the datagrams of a socket to a file:  sink.py SOCKET FILE"""

import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as source, open(sys.argv[2], "wb") as file:
    source.bind(sys.argv[1])
    while True:
        file.write(source.recv(65536) + b"\n")
