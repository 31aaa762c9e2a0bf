// swift-tools-version: 6.2
import PackageDescription

// One list of strict settings for every target; warnings are errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableExperimentalFeature("Lifetimes"),
]

let package = Package(
    name: "netproxy",
    products: [
        .library(name: "NetworkClient", targets: ["NetworkClient"]),
        .library(name: "NetworkCore", targets: ["NetworkCore"]),
        .library(name: "OAuth", targets: ["OAuth"]),
        .library(name: "OriginTransport", targets: ["OriginTransport"]),
        .library(name: "NetworkTesting", targets: ["NetworkTesting"]),
        // The names of four older libraries, for programs that come from them.
        .library(
            name: "Dialects",
            targets: ["MTNetwork", "NetLord", "NetworkSession", "TYCoreAPI"]
        ),
        // Each brings a package of the ecosystem, which only its users build.
        .library(name: "NetworkLifecycle", targets: ["NetworkLifecycle"]),
        .library(name: "NetworkMetrics", targets: ["NetworkMetrics"]),
        .library(name: "NetworkTracing", targets: ["NetworkTracing"]),
        .executable(name: "netproxy", targets: ["netproxy"]),
    ],
    dependencies: [
        // The commands, their help and their completion scripts.
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        // Where the library's logger writes to: what the app chose.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // The ecosystem's requests, responses and fields, bridged to and from ours.
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // Graceful shutdown, metrics and spans, for the products of these names alone.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibevent",
            pkgConfig: "libevent_core",
            providers: [.apt(["libevent-dev"])]
        ),
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"])]
        ),
        .systemLibrary(
            name: "CNghttp2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"])]
        ),
        .systemLibrary(
            name: "CYAML",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]
        ),
        // Without pkg-config, which would warn those who build the daemon alone and need none of them.
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CBrotli", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CNetproxy"),
        .target(name: "Bytes", swiftSettings: strict),
        .target(name: "System", dependencies: ["Bytes", "CNetproxy"], swiftSettings: strict),
        .target(name: "HTTPMessage", dependencies: ["Bytes"], swiftSettings: strict),
        .target(
            name: "EventIO",
            dependencies: ["System", "Bytes", "CLibevent", "COpenSSL"],
            swiftSettings: strict
        ),
        // Signatures of JWT assertions, digests and AES-GCM with OpenSSL.
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: strict),
        // The values of a YAML text with their places, by libyaml.
        .target(name: "YAML", dependencies: ["CYAML"], swiftSettings: strict),
        // Content codings with zlib, brotli and zstd; for programs only, the daemon passes bytes through.
        .target(
            name: "Decompression",
            dependencies: ["Bytes", "CZlib", "CBrotli", "CZstd"],
            swiftSettings: strict
        ),
        .target(name: "HTTP1", dependencies: ["HTTPMessage", "Bytes"], swiftSettings: strict),
        // HTTP/2: framing, HPACK and flow control by nghttp2, the rules of messages by `HTTP1`.
        .target(
            name: "HTTP2",
            dependencies: ["HTTP1", "HTTPMessage", "Bytes", "CNghttp2"],
            swiftSettings: strict
        ),
        .target(
            name: "NetworkCore",
            dependencies: [
                "HTTPMessage", "System", "Bytes",
            ],
            swiftSettings: strict
        ),
        .target(
            name: "OAuth",
            dependencies: [
                "NetworkCore", "Cryptography", "HTTPMessage", "System", "Bytes",
            ],
            swiftSettings: strict
        ),
        // AWS Signature Version 4, and where its credentials come from.
        .target(
            name: "AWSSigning",
            dependencies: [
                "OAuth", "NetworkCore", "Cryptography", "HTTPMessage", "Bytes",
            ],
            swiftSettings: strict
        ),
        // The token store that many machines share, in etcd.
        .target(
            name: "EtcdStore",
            dependencies: ["OAuth", "NetworkCore", "HTTPMessage", "Bytes"],
            swiftSettings: strict
        ),
        .target(
            name: "NetworkClient",
            dependencies: [
                "OAuth", "OriginTransport", "NetworkCore", "Decompression", "HTTPMessage", "System",
                "Bytes",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "NetworkTesting",
            dependencies: ["NetworkClient", "NetworkCore", "HTTPMessage", "Bytes"],
            swiftSettings: strict
        ),
        .target(name: "TYCoreAPI", dependencies: ["NetworkClient"], swiftSettings: strict),
        .target(name: "NetLord", dependencies: ["NetworkClient"], swiftSettings: strict),
        .target(name: "MTNetwork", dependencies: ["NetworkClient"], swiftSettings: strict),
        .target(name: "NetworkSession", dependencies: ["NetworkClient"], swiftSettings: strict),
        .target(
            name: "NetworkLifecycle",
            dependencies: [
                "NetworkClient",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "NetworkMetrics",
            dependencies: ["NetworkClient", .product(name: "Metrics", package: "swift-metrics")],
            swiftSettings: strict
        ),
        .target(
            name: "NetworkTracing",
            dependencies: [
                "NetworkClient",
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "OriginTransport",
            dependencies: [
                "NetworkCore", "HTTP2", "HTTP1", "EventIO", "HTTPMessage", "System", "Bytes",
            ],
            swiftSettings: strict
        ),
        .target(
            name: "RequestLog",
            dependencies: ["NetworkCore", "HTTPMessage", "System", "Bytes"],
            swiftSettings: strict
        ),
        .target(
            name: "ProxyConfig",
            dependencies: ["YAML", "HTTPMessage", "Bytes"],
            swiftSettings: strict
        ),
        .target(
            name: "ProxyDaemon",
            dependencies: [
                "ProxyConfig", "RequestLog", "OriginTransport", "AWSSigning", "EtcdStore",
                "OAuth", "NetworkCore", "HTTP2",
                "HTTP1", "EventIO", "HTTPMessage", "System", "Bytes", "Cryptography",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "netproxy",
            dependencies: [
                "ProxyDaemon", "ProxyConfig", "RequestLog", "System", "Bytes",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "NetworkTesting", "ProxyDaemon", "ProxyConfig", "OriginTransport", "EventIO",
                "HTTP2", "HTTP1", "OAuth", "NetworkCore", "HTTPMessage", "System", "Bytes",
                "COpenSSL",
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        .testTarget(name: "BytesTests", dependencies: ["Bytes"], swiftSettings: strict),
        .testTarget(
            name: "SystemTests",
            dependencies: ["System", "EventIO", "Bytes", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CryptographyTests",
            dependencies: ["Cryptography"],
            swiftSettings: strict
        ),
        .testTarget(name: "YAMLTests", dependencies: ["YAML"], swiftSettings: strict),
        .testTarget(
            name: "DecompressionTests",
            dependencies: ["Decompression", "Bytes"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPMessageTests",
            dependencies: ["HTTPMessage", "Bytes"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "EventIOTests",
            dependencies: ["EventIO", "Bytes", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTP1Tests",
            dependencies: ["HTTP1", "HTTPMessage", "Bytes", "TestSupport"],
            exclude: ["Corpus"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTP2Tests",
            dependencies: ["HTTP2", "HTTP1", "HTTPMessage", "Bytes"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetworkCoreTests",
            dependencies: [
                "OAuth", "NetworkCore", "NetworkTesting", "OriginTransport", "HTTPMessage",
                "System", "Bytes",
                "EventIO", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "OriginTransportTests",
            dependencies: [
                "OriginTransport", "NetworkClient", "NetworkCore", "HTTP2", "HTTP1", "EventIO",
                "HTTPMessage",
                "Bytes", "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetworkClientTests",
            dependencies: [
                "NetworkClient", "NetworkCore", "NetworkTesting", "OriginTransport", "HTTPMessage",
                "Bytes", "EventIO", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetworkProductsTests",
            dependencies: [
                "NetworkLifecycle", "NetworkMetrics", "NetworkTracing", "NetworkClient",
                "NetworkTesting", "TestSupport",
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "OAuthTests",
            dependencies: [
                "OAuth", "NetworkCore", "NetworkTesting", "HTTPMessage", "System", "Bytes",
                "Cryptography", "EventIO", "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AWSSigningTests",
            dependencies: [
                "AWSSigning", "OAuth", "NetworkCore", "NetworkTesting", "HTTPMessage", "Bytes",
                "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "EtcdStoreTests",
            dependencies: [
                "EtcdStore", "OAuth", "NetworkCore", "NetworkTesting", "HTTPMessage", "Bytes",
                "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RequestLogTests",
            dependencies: ["RequestLog", "NetworkCore", "HTTPMessage", "System", "Bytes"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ProxyConfigTests",
            dependencies: ["ProxyConfig", "HTTPMessage"],
            exclude: ["Corpus"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ProxyDaemonTests",
            dependencies: [
                "ProxyDaemon", "OriginTransport", "ProxyConfig", "RequestLog", "OAuth",
                "NetworkCore",
                "EventIO", "HTTP2", "HTTP1", "HTTPMessage", "Bytes", "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "netproxyTests",
            dependencies: [
                "netproxy", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ArchitectureTests",
            exclude: ["Coverage.md", "FirstUse.md"],
            swiftSettings: strict
        ),
    ]
)
