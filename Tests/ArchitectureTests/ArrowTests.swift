import Testing

/// The dependencies between the targets, since SwiftPM does not check transitive imports.
@Suite struct ArrowTests {
    /// The modules of this package and of others that each target may import; system modules are always
    /// allowed.
    private static let allowed: [String: Set<String>] = [
        "NetproxyBytes": [],
        "NetproxySettings": ["NetproxyBytes"],
        "NetproxyLiveObjects": [],
        "NetproxySystem": ["NetproxyBytes", "CNetproxySystem"],
        "NetproxyHTTPMessage": ["NetproxyBytes"],
        "NetproxyEventIO": [
            "NetproxyLiveObjects", "NetproxySystem", "NetproxySettings", "NetproxyBytes",
            "CNetproxyLibevent",
            "CNetproxyOpenSSL",
        ],
        "NetproxyCryptography": ["NetproxySettings", "CNetproxyOpenSSL"],
        "NetproxyYAML": ["CNetproxyYAML"],
        "NetproxyInflation": ["NetproxyBytes", "CNetproxyZlib"],
        "NetproxyDecompression": [
            "NetproxyInflation", "NetproxyBytes", "CNetproxyBrotli", "CNetproxyZstd",
        ],
        "NetproxyHTTP1": ["NetproxyHTTPMessage", "NetproxyBytes"],
        "NetproxyHTTP2": [
            "NetproxyLiveObjects", "NetproxyHTTP1", "NetproxyHTTPMessage", "NetproxyBytes",
            "CNetproxyNghttp2",
        ],
        "NetworkCore": [
            "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings", "NetproxyInflation",
            "NetproxyBytes",
        ],
        "OAuth": [
            "NetworkCore", "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings",
            "NetproxyBytes",
            "NetproxyCryptography",
        ],
        "NetproxyAWSSigning": [
            "OAuth", "NetworkCore", "NetproxyCryptography", "NetproxyHTTPMessage", "NetproxyBytes",
        ],
        "NetproxyEtcdStore": ["OAuth", "NetworkCore", "NetproxyHTTPMessage", "NetproxyBytes"],
        "NetworkClient": [
            "OAuth", "OriginTransport", "NetworkCore", "NetproxyDecompression",
            "NetproxyInflation", "NetproxyHTTPMessage", "NetproxySystem",
            "NetproxyBytes", "Logging", "HTTPTypes",
        ],
        "TYCoreAPI": ["NetworkClient"],
        "NetLord": ["NetworkClient"],
        "MTNetwork": ["NetworkClient"],
        "NetworkSession": ["NetworkClient"],
        "NetworkLifecycle": ["NetworkClient", "ServiceLifecycle"],
        "NetworkMetrics": ["NetworkClient", "Metrics"],
        "NetworkTracing": ["NetworkClient", "Tracing"],
        "NetworkTesting": ["NetworkClient", "NetworkCore", "NetproxyHTTPMessage", "NetproxyBytes"],
        "OriginTransport": [
            "NetproxyLiveObjects", "NetworkCore", "NetproxyHTTP2", "NetproxyHTTP1",
            "NetproxyEventIO",
            "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings", "NetproxyBytes",
        ],
        "NetproxyRequestLog": [
            "NetworkCore", "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings",
            "NetproxyBytes",
        ],
        "NetproxyConfig": [
            "NetproxyPresets", "NetproxyHTTPMessage", "NetproxyYAML", "NetproxySettings",
            "NetproxyBytes",
        ],
        "NetproxyPresets": ["NetproxyYAML", "NetproxyBytes"],
        "NetproxyPath": [
            "NetproxyLiveObjects",
            "NetproxyConfig", "NetproxyRequestLog", "OriginTransport", "OAuth", "NetworkCore",
            "NetproxyHTTP2", "NetproxyHTTP1", "NetproxyEventIO", "NetproxyHTTPMessage",
            "NetproxySystem", "NetproxySettings", "NetproxyBytes",
        ],
        "NetproxyChannels": [
            "NetproxyPath", "NetproxyConfig", "NetproxyRequestLog", "OriginTransport",
            "NetproxyAWSSigning", "NetproxyEtcdStore", "OAuth", "NetworkCore", "NetproxyHTTP1",
            "NetproxyEventIO", "NetproxyHTTPMessage", "NetproxySystem", "NetproxySettings",
            "NetproxyBytes",
            "NetproxyCryptography",
        ],
        "NetproxyService": [
            "NetproxyChannels", "NetproxyPath", "NetproxyConfig", "NetproxyRequestLog",
            "OriginTransport", "NetproxyEtcdStore", "OAuth", "NetworkCore", "NetproxyHTTP2",
            "NetproxyHTTP1", "NetproxyEventIO", "NetproxyHTTPMessage", "NetproxySystem",
            "NetproxySettings", "NetproxyBytes",
        ],
        "NetproxyCommands": [
            "NetproxyPresets", "NetproxyService", "NetproxyChannels", "NetproxyPath",
            "NetproxyConfig",
            "NetproxyRequestLog", "OriginTransport", "NetproxyAWSSigning", "OAuth", "NetworkCore",
            "NetproxyHTTP1", "NetproxyEventIO", "NetproxyHTTPMessage", "NetproxySystem",
            "NetproxySettings", "NetproxyBytes",
        ],
        "netproxy": [
            "NetproxyPresets", "NetproxyCommands", "NetproxyService", "NetproxyChannels",
            "NetproxyPath", "NetproxyConfig", "NetproxyRequestLog", "NetproxySystem",
            "NetproxySettings", "NetproxyBytes",
            "ArgumentParser",
        ],
    ]

    private static let system: Set<String> = [
        "Glibc", "SwiftOverlayShims", "Synchronization", "FoundationEssentials",
    ]

    @Test func `every target imports only what its arrows allow`() throws {
        for target in SourceTree.targets() {
            let allowed = try #require(Self.allowed[target], "\(target) has no row in the table")
            let found = try SourceTree.imports(of: target).subtracting(Self.system)
            #expect(found.isSubset(of: allowed), "\(target): \(found.subtracting(allowed))")
        }
    }

    @Test func `every row of the table is a target`() throws {
        #expect(Set(SourceTree.targets()) == Set(Self.allowed.keys))
    }

    /// Target names are global in a package graph.
    ///
    /// A target named `System` or `Bytes` prevents every program from building whose graph has another
    /// package with that name.
    @Test func `every target that is not a product carries the prefix`() throws {
        let manifest = try SourceTree.text(of: "Package.swift")
        let declared = manifest.matches(of: #/(?:module|library)\(\s*"(\w+)"/#).map { String($0.1) }
        let products = manifest.matches(of: #/targets: \[([^\]]+)\]/#)
            .flatMap { $0.1.matches(of: #/"(\w+)"/#).map { String($0.1) } }
        for name in declared where !products.contains(name) {
            #expect(name.hasPrefix("Netproxy") || name.hasPrefix("CNetproxy"), "\(name)")
        }
    }

    @Test(arguments: ["NetproxyHTTP1", "NetproxyHTTP2"]) func `a codec imports no system module`(
        target: String
    ) throws {
        #expect(try SourceTree.imports(of: target).isDisjoint(with: Self.system))
    }

    @Test func `no target imports Foundation, which brings 34 MB of ICU`() throws {
        for target in SourceTree.targets() {
            #expect(try !SourceTree.imports(of: target).contains("Foundation"), "\(target)")
        }
    }

    @Test func `no target imports FoundationNetworking`() throws {
        for target in SourceTree.targets() {
            #expect(try !SourceTree.imports(of: target).contains("FoundationNetworking"))
        }
    }
}
