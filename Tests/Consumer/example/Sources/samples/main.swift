import Foundation
import MTNetworkSample
import NetLordSample
import NetworkSessionSample
import TYCoreAPISample

// The samples of four documents against one server, whose answers say what it was asked: its `host:port` is the
// only argument. Prints a line for each and exits 1 at the first that differs.

struct Disappointment: Error { let step: String }

func check(_ condition: Bool, _ step: String) throws {
    guard condition else { throw Disappointment(step: step) }
    print("ok \(step)")
}

let host = CommandLine.arguments.dropFirst().first ?? ""
Constant.host = host
APIURL.DolapLite.root.baseURL = "http://\(host)"
try check(
    try await ordersTarget("page=1&size=20") == "/order?page=1&size=20 Bearer channel",
    "TYCoreAPI: an interactor's completion handler gets the orders"
)

let response = try await example(scheme: "http", host: host)
try check(
    response.text.contains(#""target": "/v1/my/path?foo=bar Bearer from-my-service""#),
    "NetLord: a built request is signed with the service's token"
)

guard let url = URL(string: "http://\(host)") else { throw Disappointment(step: "the URL") }
APIEnvironment.baseURL = url
let found = try await photos()
try check(
    found["target"] == "/photos?order_by=popular&page=2 Client-ID clientId",
    "MTNetwork: a provider sends the parameters and the field of a target"
)

server = host
let (town, details) = try await cityAndError()
try check(
    town.target == "/v1/city?q=Ulm t" && town.authorization == "t"
        && town.body == #"{"deep":{"a":1}}"#,
    "NetworkSession: a request manager posts parameters with the token"
)
try check(details == "it broke", "NetworkSession: a server's error is decoded")
