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

/// A target of the package, below `Sources`.
///
/// Target names are global in a package graph, so every target
/// that is not a product carries the prefix `Netproxy`.
func module(
    _ name: String,
    at path: String,
    uses dependencies: [Target.Dependency] = [],
    embedding files: [String] = []
) -> Target {
    .target(
        name: name,
        dependencies: dependencies,
        path: "Sources/\(path)",
        resources: files.map { .embedInCode($0) },
        swiftSettings: strict
    )
}

/// A C library of the system.
///
/// The daemon needs the ones with a pkg-config name; without that name, a build
/// of the daemon alone prints no warning about a missing library.
func library(_ name: String, at path: String, pkgConfig: String? = nil, apt: String) -> Target {
    .systemLibrary(
        name: name,
        path: "Sources/C/\(path)",
        pkgConfig: pkgConfig,
        providers: [.apt([apt])]
    )
}

func tests(
    _ name: String,
    exclude: [String] = [],
    uses dependencies: [Target.Dependency] = []
) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies,
        exclude: exclude,
        swiftSettings: strict
    )
}

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser",
    package: "swift-argument-parser"
)
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

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
        // Each depends on a package of the server ecosystem that only its users build.
        .library(name: "NetworkLifecycle", targets: ["NetworkLifecycle"]),
        .library(name: "NetworkMetrics", targets: ["NetworkMetrics"]),
        .library(name: "NetworkTracing", targets: ["NetworkTracing"]),
        .executable(name: "netproxy", targets: ["netproxy"]),
    ],
    dependencies: [
        // The commands, their help and their completion scripts.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // The library logs through the logger that the program configured.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // Bridges to and from the request, response and field types of the server ecosystem.
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // Graceful shutdown, metrics and spans, for the products of these names alone.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        // C libraries.
        library(
            "CNetproxyLibevent",
            at: "Libevent",
            pkgConfig: "libevent_core",
            apt: "libevent-dev"
        ),
        library("CNetproxyOpenSSL", at: "OpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
        library("CNetproxyNghttp2", at: "Nghttp2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev"),
        library("CNetproxyYAML", at: "YAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev"),
        library("CNetproxyZlib", at: "Zlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
        library("CNetproxyBrotli", at: "Brotli", apt: "libbrotli-dev"),
        library("CNetproxyZstd", at: "Zstd", apt: "libzstd-dev"),
        .systemLibrary(name: "CNetproxySystem", path: "Sources/C/System"),

        // Base: bytes, the operating system, the event loop, cryptography, documents.
        module("NetproxyBytes", at: "Base/Bytes"),
        // The values that the configuration and the running parts share.
        module("NetproxySettings", at: "Base/Settings", uses: ["NetproxyBytes"]),
        // Counts live objects in debug builds, for tests that look for leaks.
        module("NetproxyLiveObjects", at: "Base/LiveObjects"),
        module("NetproxySystem", at: "Base/System", uses: ["NetproxyBytes", "CNetproxySystem"]),
        module(
            "NetproxyEventIO",
            at: "Base/EventIO",
            uses: [
                "NetproxyLiveObjects", "NetproxySystem", "NetproxySettings", "NetproxyBytes",
                "CNetproxyLibevent",
                "CNetproxyOpenSSL",
            ]
        ),
        module(
            "NetproxyCryptography",
            at: "Base/Cryptography",
            uses: ["NetproxySettings", "CNetproxyOpenSSL"]
        ),
        module("NetproxyYAML", at: "Base/YAML", uses: ["CNetproxyYAML"]),
        // gzip and deflate.
        module(
            "NetproxyInflation",
            at: "Base/Inflation",
            uses: ["NetproxyBytes", "CNetproxyZlib"]
        ),
        // All codings; used by programs only.
        module(
            "NetproxyDecompression",
            at: "Base/Decompression",
            uses: ["NetproxyInflation", "NetproxyBytes", "CNetproxyBrotli", "CNetproxyZstd"]
        ),

        // HTTP: messages and their two wire formats.
        module("NetproxyHTTPMessage", at: "HTTP/HTTPMessage", uses: ["NetproxyBytes"]),
        module("NetproxyHTTP1", at: "HTTP/HTTP1", uses: ["NetproxyHTTPMessage", "NetproxyBytes"]),
        // nghttp2 does framing, HPACK and flow control; `NetproxyHTTP1` has the rules of messages.
        module(
            "NetproxyHTTP2",
            at: "HTTP/HTTP2",
            uses: [
                "NetproxyLiveObjects", "NetproxyHTTP1", "NetproxyHTTPMessage", "NetproxyBytes",
                "CNetproxyNghttp2",
            ]
        ),

        // Core: the chain of interceptors, the transport, and credentials.
        module(
            "NetworkCore",
            at: "Core/NetworkCore",
            uses: [
                "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings", "NetproxyInflation",
                "NetproxyBytes",
            ]
        ),
        module(
            "OriginTransport",
            at: "Core/OriginTransport",
            uses: [
                "NetproxyLiveObjects",
                "NetworkCore", "NetproxyHTTP2", "NetproxyHTTP1", "NetproxyEventIO",
                "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings", "NetproxyBytes",
            ]
        ),
        module(
            "OAuth",
            at: "Core/OAuth",
            uses: [
                "NetworkCore", "NetproxyCryptography", "NetproxyHTTPMessage", "NetproxySystem",
                "NetproxySettings", "NetproxyBytes",
            ]
        ),
        module(
            "NetproxyAWSSigning",
            at: "Core/AWSSigning",
            uses: [
                "OAuth", "NetworkCore", "NetproxyCryptography", "NetproxyHTTPMessage",
                "NetproxyBytes",
            ]
        ),
        module(
            "NetproxyEtcdStore",
            at: "Core/EtcdStore",
            uses: ["OAuth", "NetworkCore", "NetproxyHTTPMessage", "NetproxyBytes"]
        ),

        // Client: the library for Swift programs.
        module(
            "NetworkClient",
            at: "Client/NetworkClient",
            uses: [
                "OAuth", "OriginTransport", "NetworkCore", "NetproxyDecompression",
                "NetproxyInflation", "NetproxyHTTPMessage", "NetproxySystem", "NetproxyBytes",
                logging, httpTypes,
            ]
        ),
        module(
            "NetworkTesting",
            at: "Client/NetworkTesting",
            uses: ["NetworkClient", "NetworkCore", "NetproxyHTTPMessage", "NetproxyBytes"]
        ),
        module(
            "NetworkLifecycle",
            at: "Client/NetworkLifecycle",
            uses: [
                "NetworkClient",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        module(
            "NetworkMetrics",
            at: "Client/NetworkMetrics",
            uses: ["NetworkClient", .product(name: "Metrics", package: "swift-metrics")]
        ),
        module(
            "NetworkTracing",
            at: "Client/NetworkTracing",
            uses: [
                "NetworkClient",
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        module("MTNetwork", at: "Client/Dialects/MTNetwork", uses: ["NetworkClient"]),
        module("NetLord", at: "Client/Dialects/NetLord", uses: ["NetworkClient"]),
        module("NetworkSession", at: "Client/Dialects/NetworkSession", uses: ["NetworkClient"]),
        module("TYCoreAPI", at: "Client/Dialects/TYCoreAPI", uses: ["NetworkClient"]),

        // Daemon: configuration, request log, request path, service and commands.
        module(
            "NetproxyRequestLog",
            at: "Daemon/RequestLog",
            uses: [
                "NetworkCore", "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings",
                "NetproxyBytes",
            ]
        ),
        // The providers of `preset`; presets.yaml is a link to the file in `config`.
        module(
            "NetproxyPresets",
            at: "Daemon/Presets",
            uses: ["NetproxyYAML", "NetproxyBytes"],
            embedding: ["presets.yaml"]
        ),
        module(
            "NetproxyConfig",
            at: "Daemon/Config",
            uses: [
                "NetproxyPresets", "NetproxyYAML", "NetproxyHTTPMessage", "NetproxySettings",
                "NetproxyBytes",
            ]
        ),
        // The path of a request: downstream connections, routing, access, the exchange.
        module(
            "NetproxyPath",
            at: "Daemon/Path",
            uses: [
                "NetproxyLiveObjects",
                "NetproxyConfig", "NetproxyRequestLog", "OriginTransport", "OAuth", "NetworkCore",
                "NetproxyHTTP2", "NetproxyHTTP1", "NetproxyEventIO", "NetproxyHTTPMessage",
                "NetproxySystem", "NetproxySettings", "NetproxyBytes",
            ]
        ),
        // Channels, their credentials, secrets and logs.
        module(
            "NetproxyChannels",
            at: "Daemon/Channels",
            uses: [
                "NetproxyPath", "NetproxyConfig", "NetproxyRequestLog", "OriginTransport",
                "NetproxyAWSSigning", "NetproxyEtcdStore", "OAuth", "NetworkCore", "NetproxyHTTP1",
                "NetproxyEventIO", "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings",
                "NetproxyBytes",
                "NetproxyCryptography",
            ]
        ),
        // The running daemon: its life, reloads, the admin interface and its page.
        module(
            "NetproxyService",
            at: "Daemon/Service",
            uses: [
                "NetproxyChannels", "NetproxyPath", "NetproxyConfig", "NetproxyRequestLog",
                "OriginTransport", "NetproxyEtcdStore", "OAuth", "NetworkCore", "NetproxyHTTP2",
                "NetproxyHTTP1", "NetproxyEventIO", "NetproxyHTTPMessage", "NetproxySystem",
                "NetproxySettings", "NetproxyBytes",
            ],
            embedding: [
                "Admin/Page/page.html", "Admin/Page/shared.css", "Admin/Page/page.css",
                "Admin/Page/tools.js", "Admin/Page/channels.js", "Admin/Page/exchanges.js",
                "Admin/Page/start.js",
            ]
        ),
        // Code of the command line that a daemon never runs.
        module(
            "NetproxyCommands",
            at: "Daemon/Commands",
            uses: [
                "NetproxyService", "NetproxyChannels", "NetproxyPath", "NetproxyConfig",
                "NetproxyPresets", "NetproxyRequestLog", "OriginTransport", "NetproxyAWSSigning",
                "OAuth", "NetworkCore", "NetproxyHTTP1", "NetproxyEventIO", "NetproxyHTTPMessage",
                "NetproxySystem", "NetproxySettings", "NetproxyBytes",
            ]
        ),
        .executableTarget(
            name: "netproxy",
            dependencies: [
                "NetproxyCommands", "NetproxyService", "NetproxyChannels", "NetproxyPath",
                "NetproxyConfig", "NetproxyPresets", "NetproxyRequestLog", "NetproxySystem",
                "NetproxySettings", "NetproxyBytes", argumentParser,
            ],
            path: "Sources/Daemon/netproxy",
            swiftSettings: strict
        ),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "NetproxyLiveObjects",
                "NetworkTesting", "NetproxyCommands", "NetproxyService", "NetproxyChannels",
                "NetproxyPath", "NetproxyConfig", "OriginTransport", "NetproxyEventIO",
                "NetproxyHTTP2", "NetproxyHTTP1", "OAuth", "NetworkCore",
                "NetproxyHTTPMessage", "NetproxySystem", "NetproxyBytes", "CNetproxyOpenSSL",
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        tests("BytesTests", uses: ["NetproxyBytes"]),
        tests(
            "SystemTests",
            uses: ["NetproxySystem", "NetproxyEventIO", "NetproxyBytes", "TestSupport"]
        ),
        tests("CryptographyTests", uses: ["NetproxyCryptography", "NetproxySettings"]),
        tests("YAMLTests", uses: ["NetproxyYAML"]),
        tests(
            "DecompressionTests",
            uses: ["NetproxyDecompression", "NetproxyInflation", "NetproxyBytes"]
        ),
        tests("HTTPMessageTests", uses: ["NetproxyHTTPMessage", "NetproxyBytes"]),
        tests(
            "EventIOTests",
            uses: ["NetproxyEventIO", "NetproxySettings", "NetproxyBytes", "TestSupport"]
        ),
        tests(
            "HTTP1Tests",
            exclude: ["Corpus"],
            uses: ["NetproxyHTTP1", "NetproxyHTTPMessage", "NetproxyBytes", "TestSupport"]
        ),
        tests(
            "HTTP2Tests",
            uses: ["NetproxyHTTP2", "NetproxyHTTP1", "NetproxyHTTPMessage", "NetproxyBytes"]
        ),
        tests(
            "NetworkCoreTests",
            uses: [
                "OAuth", "NetworkCore", "NetworkTesting", "OriginTransport",
                "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings", "NetproxyBytes",
                "NetproxyEventIO",
                "TestSupport", logging, httpTypes,
            ]
        ),
        tests(
            "OriginTransportTests",
            uses: [
                "OriginTransport", "NetworkClient", "NetworkCore", "NetproxyHTTP2",
                "NetproxyHTTP1", "NetproxyEventIO", "NetproxyHTTPMessage", "NetproxySettings",
                "NetproxyBytes",
                "TestSupport",
            ]
        ),
        tests(
            "NetworkClientTests",
            uses: [
                "NetworkClient", "NetworkCore", "NetworkTesting", "OriginTransport",
                "NetproxyHTTPMessage", "NetproxyBytes", "NetproxyEventIO", "TestSupport", logging,
                httpTypes,
            ]
        ),
        tests(
            "NetworkProductsTests",
            uses: [
                "NetworkLifecycle", "NetworkMetrics", "NetworkTracing", "NetworkClient",
                "NetworkTesting", "TestSupport",
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ]
        ),
        tests(
            "OAuthTests",
            uses: [
                "OAuth", "NetworkCore", "NetworkTesting", "NetproxyHTTPMessage",
                "NetproxySystem", "NetproxySettings", "NetproxyBytes", "NetproxyCryptography",
                "NetproxyEventIO",
                "TestSupport",
            ]
        ),
        tests(
            "AWSSigningTests",
            uses: [
                "NetproxyAWSSigning", "OAuth", "NetworkCore", "NetworkTesting",
                "NetproxyHTTPMessage", "NetproxyBytes", "TestSupport",
            ]
        ),
        tests(
            "EtcdStoreTests",
            uses: [
                "NetproxyEtcdStore", "OAuth", "NetworkCore", "NetworkTesting",
                "NetproxyHTTPMessage", "NetproxyBytes", "TestSupport",
            ]
        ),
        tests(
            "RequestLogTests",
            uses: [
                "NetproxyRequestLog", "NetworkCore", "NetproxyHTTPMessage", "NetproxySystem",
                "NetproxySettings", "NetproxyBytes",
            ]
        ),
        tests(
            "PresetTests",
            uses: ["NetproxyPresets", "NetproxyConfig", "NetproxyHTTPMessage"]
        ),
        tests(
            "ConfigTests",
            exclude: ["Corpus"],
            uses: ["NetproxyConfig", "NetproxyHTTPMessage", "NetproxySettings"]
        ),
        tests(
            "DaemonTests",
            uses: [
                "NetproxyLiveObjects",
                "NetproxyCommands", "NetproxyService", "NetproxyChannels", "NetproxyPath",
                "OriginTransport", "NetproxyConfig", "NetproxyPresets", "NetproxyRequestLog",
                "OAuth", "NetworkCore", "NetproxyEventIO", "NetproxyHTTP2", "NetproxyHTTP1",
                "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings", "NetproxyBytes",
                "TestSupport",
            ]
        ),
        tests(
            "netproxyTests",
            uses: [
                "netproxy", "NetproxyCommands", "NetproxyChannels", "NetproxyConfig",
                "NetproxyPresets", "TestSupport", argumentParser,
            ]
        ),
        tests("ArchitectureTests", exclude: ["Coverage.md", "FirstUse.md"]),
    ]
)
