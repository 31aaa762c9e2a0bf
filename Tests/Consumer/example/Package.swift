// swift-tools-version: 6.2
import PackageDescription

// An adopter's package: built outside of the checkout, which `run.py` links beside it. The targets
// below `Sources/Blocks` are the code blocks of the documentation, written there by the same script.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
let client: Target.Dependency = .product(name: "NetworkClient", package: "netproxy")
let testing: Target.Dependency = .product(name: "NetworkTesting", package: "netproxy")
let dialects: Target.Dependency = .product(name: "Dialects", package: "netproxy")
let lifecycle: Target.Dependency = .product(name: "NetworkLifecycle", package: "netproxy")
let services: Target.Dependency = .product(
    name: "ServiceLifecycle",
    package: "swift-service-lifecycle"
)
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let types: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let names = Context.environment["NAMES", default: ""].split(separator: " ").map(String.init)
let blocks = Context.environment["BLOCKS", default: ""].split(separator: " ").map(String.init)

let package = Package(
    name: "order-example",
    dependencies: [
        .package(path: "../netproxy"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "OrderAPI", dependencies: [client], swiftSettings: strict),
        .executableTarget(
            name: "orders",
            dependencies: ["OrderAPI", client],
            swiftSettings: strict
        ),
        .executableTarget(name: "httpbin", dependencies: [client], swiftSettings: strict),
        .executableTarget(
            name: "drain",
            dependencies: [client, lifecycle, services, logging],
            swiftSettings: strict
        ),
        // What the documentation of generated clients is compiled against.
        .target(name: "OpenAPIRuntime", dependencies: [types], swiftSettings: strict),
        // The samples of four documents. An app of today is on the main actor unless it says otherwise.
        .target(
            name: "TYCoreAPISample",
            dependencies: [dialects],
            swiftSettings: strict + [
                .defaultIsolation(MainActor.self),
                .enableUpcomingFeature("InferIsolatedConformances"),
            ]
        ),
        .target(name: "NetLordSample", dependencies: [dialects], swiftSettings: strict),
        .target(name: "MTNetworkSample", dependencies: [dialects], swiftSettings: strict),
        .target(name: "NetworkSessionSample", dependencies: [dialects], swiftSettings: strict),
        .executableTarget(
            name: "samples",
            dependencies: [
                "TYCoreAPISample", "NetLordSample", "MTNetworkSample", "NetworkSessionSample",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "OrderAPITests",
            dependencies: ["OrderAPI", client, testing],
            swiftSettings: strict
        ),
        // The behaviors that the four documents promise, in Swift 6 mode without default isolation.
        .testTarget(
            name: "DialectTests",
            dependencies: [dialects, testing],
            swiftSettings: strict
        ),
    ]
        // Targets with short names, which must not collide with those of netproxy.
        + names.map { .target(name: $0, path: "Sources/Names/\($0)", swiftSettings: strict) }
        + blocks.map { name in
            .target(
                name: name,
                dependencies: [client, testing, types, "OpenAPIRuntime"],
                path: "Sources/Blocks/\(name)",
                swiftSettings: strict
            )
        }
        // The code for generated clients, as a client uses it.
        + (blocks.contains("BlocksGeneratedClients")
            ? [
                .testTarget(
                    name: "GeneratedClientTests",
                    dependencies: [
                        "BlocksGeneratedClients", "OpenAPIRuntime", client, testing, types,
                    ],
                    swiftSettings: strict
                )
            ] : [])
)
