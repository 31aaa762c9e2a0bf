import Testing

/// The arrows between the targets: SwiftPM does not police transitive imports.
@Suite struct ArrowTests {
    /// What each target may import of this package and of others; the system's modules are free.
    private static let allowed: [String: Set<String>] = [
        "Bytes": [],
        "System": ["Bytes", "CNetproxy"],
        "HTTPMessage": ["Bytes"],
        "EventIO": ["System", "Bytes", "CLibevent", "COpenSSL"],
        "Cryptography": ["COpenSSL"],
        "YAML": ["CYAML"],
        "Decompression": ["Bytes", "CZlib", "CBrotli", "CZstd"],
        "HTTP1": ["HTTPMessage", "Bytes"],
        "HTTP2": ["HTTP1", "HTTPMessage", "Bytes", "CNghttp2"],
        "NetworkCore": ["HTTPMessage", "System", "Bytes"],
        "OAuth": ["NetworkCore", "HTTPMessage", "System", "Bytes", "Cryptography"],
        "AWSSigning": ["OAuth", "NetworkCore", "Cryptography", "HTTPMessage", "Bytes"],
        "EtcdStore": ["OAuth", "NetworkCore", "HTTPMessage", "Bytes"],
        "NetworkClient": [
            "OAuth", "OriginTransport", "NetworkCore", "Decompression", "HTTPMessage", "System",
            "Bytes", "Logging", "HTTPTypes",
        ],
        "TYCoreAPI": ["NetworkClient"],
        "NetLord": ["NetworkClient"],
        "MTNetwork": ["NetworkClient"],
        "NetworkSession": ["NetworkClient"],
        "NetworkLifecycle": ["NetworkClient", "ServiceLifecycle"],
        "NetworkMetrics": ["NetworkClient", "Metrics"],
        "NetworkTracing": ["NetworkClient", "Tracing"],
        "NetworkTesting": ["NetworkClient", "NetworkCore", "HTTPMessage", "Bytes"],
        "OriginTransport": [
            "NetworkCore", "HTTP2", "HTTP1", "EventIO", "HTTPMessage", "System", "Bytes",
        ],
        "RequestLog": ["NetworkCore", "HTTPMessage", "System", "Bytes"],
        "ProxyConfig": ["HTTPMessage", "Bytes", "YAML"],
        "ProxyDaemon": [
            "ProxyConfig", "RequestLog", "OriginTransport", "AWSSigning", "EtcdStore", "OAuth",
            "NetworkCore", "HTTP2", "HTTP1", "EventIO", "HTTPMessage", "System", "Bytes",
            "Cryptography",
        ],
        "netproxy": [
            "ProxyDaemon", "ProxyConfig", "RequestLog", "System", "Bytes", "ArgumentParser",
        ],
    ]

    private static let system: Set<String> = [
        "Glibc", "SwiftOverlayShims", "Synchronization", "FoundationEssentials",
    ]

    @Test func `every target imports only what its arrows allow`() throws {
        for target in try SourceTree.targets() {
            let allowed = try #require(Self.allowed[target], "\(target) has no row in the table")
            let found = try SourceTree.imports(of: target).subtracting(Self.system)
            #expect(found.isSubset(of: allowed), "\(target): \(found.subtracting(allowed))")
        }
    }

    @Test func `every row of the table is a target`() throws {
        #expect(try Set(SourceTree.targets()) == Set(Self.allowed.keys))
    }

    /// A package graph has no two targets of one name: with one of these, no program that uses NIO, directly
    /// or not, could use the library.
    @Test(arguments: [
        "CSystem", "SystemPackage", "CNIOLinux", "CNIOLLHTTP", "NIO", "NIOCore", "NIOHTTP1",
        "HTTPTypes", "Crypto", "X509", "Logging", "Metrics", "Tracing", "AsyncHTTPClient",
        "Hummingbird", "Yams", "CYaml", "Atomics", "Algorithms", "Configuration",
    ])
    func `no target has the name of one of the server ecosystem`(name: String) throws {
        let manifest = try SourceTree.text(of: "Package.swift")
        #expect(!manifest.contains("arget(name: \"\(name)\""))
        #expect(!manifest.contains("            name: \"\(name)\",\n            dependencies"))
        #expect(!manifest.contains("ibrary(name: \"\(name)\""))
    }

    @Test(arguments: ["HTTP1", "HTTP2"]) func `a codec knows no system`(target: String) throws {
        #expect(try SourceTree.imports(of: target).isDisjoint(with: Self.system))
    }

    @Test func `no target imports Foundation, which brings 34 MB of ICU`() throws {
        for target in try SourceTree.targets() {
            #expect(try !SourceTree.imports(of: target).contains("Foundation"), "\(target)")
        }
    }

    @Test func `no target imports FoundationNetworking`() throws {
        for target in try SourceTree.targets() {
            #expect(try !SourceTree.imports(of: target).contains("FoundationNetworking"))
        }
    }
}
