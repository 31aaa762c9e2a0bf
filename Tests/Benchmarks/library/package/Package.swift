// swift-tools-version: 6.2
import PackageDescription

// Built outside of the checkout, which `run.py` links as `netproxy` beside this directory.
let package = Package(
    name: "library-benchmark",
    dependencies: [
        .package(path: "../netproxy"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.81.0"),
    ],
    targets: [
        .executableTarget(
            name: "bench",
            dependencies: [
                .product(name: "NetworkClient", package: "netproxy"),
                .product(name: "OriginTransport", package: "netproxy"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        )
    ]
)
