// swift-tools-version: 6.2
import PackageDescription

// An adopter's package: built outside of the checkout, which `run.py` links beside it. The targets
// below `Sources/Blocks` are the code blocks of the documentation, written there by the same script.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
let client: Target.Dependency = .product(name: "NetworkClient", package: "netproxy")
let testing: Target.Dependency = .product(name: "NetworkTesting", package: "netproxy")

let package = Package(
    name: "order-example",
    dependencies: [.package(path: "../netproxy")],
    targets: [
        .target(name: "OrderAPI", dependencies: [client], swiftSettings: strict),
        .executableTarget(
            name: "orders",
            dependencies: ["OrderAPI", client],
            swiftSettings: strict
        ),
        .testTarget(
            name: "OrderAPITests",
            dependencies: ["OrderAPI", client, testing],
            swiftSettings: strict
        ),
    ]
        + Context.environment["BLOCKS", default: ""].split(separator: " ").map { name in
            .target(
                name: String(name),
                dependencies: [client, testing],
                path: "Sources/Blocks/\(name)",
                swiftSettings: strict
            )
        }
)
