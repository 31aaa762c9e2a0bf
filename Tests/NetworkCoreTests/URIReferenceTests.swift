import Testing

@testable import NetworkCore

@Suite struct URIReferenceTests {
    /// The normal and abnormal examples of RFC 3986 §5.4, without those of other schemes.
    @Test(arguments: [
        ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"),
        ("g?y", "/b/c/g?y"), ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"),
        (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"), ("g;x?y#s", "/b/c/g;x?y"), ("", "/b/c/d;p?q"),
        (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"),
        ("../..", "/"), ("../../", "/"), ("../../g", "/g"), ("../../../g", "/g"),
        ("../../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."),
        (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"), ("./../g", "/b/g"),
        ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"),
        ("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"), ("g?y/./x", "/b/c/g?y/./x"),
        ("g?y/../x", "/b/c/g?y/../x"), ("?u=http://x/", "/b/c/d;p?u=http://x/"),
    ])
    func `a relative reference is resolved against its base`(reference: String, target: String)
        throws
    {
        let base = Origin(scheme: .http, host: "a")
        let place = try URIReference(reference).resolved(from: base, "/b/c/d;p?q")
        #expect(place.0 == base)
        #expect(place.target == target)
    }

    @Test(arguments: [
        ("http://b", "http://b", "/"), ("HTTPS://B.test:443?x", "https://b.test", "/?x"),
        ("//b:81/x", "https://b:81", "/x"), ("https://b:/x", "https://b", "/x"),
        ("https://b/a%2f|^{x}?s=%2B\"", "https://b", "/a%2f|^{x}?s=%2B\""),
        (" https://b/a b/é#f ", "https://b", "/a%20b/%C3%A9"),
        ("https://[::1]:8443/a//../b", "https://[::1]:8443", "/a/b"),
    ])
    func `an absolute URL is used as written`(text: String, origin: String, target: String)
        throws
    {
        let base = Origin(scheme: .https, host: "a")
        let place = try URIReference(text).resolved(from: base, "/")
        #expect("\(place.0)" == origin)
        #expect(place.target == target)
    }

    @Test(arguments: [
        "ftp://b/", "javascript:alert(1)", "mailto:a@b.test", "http:g", "http://", "http:///x",
        "http://u:p@b/", "//u@b/", "http://b:99999/", "http://b:x/", "http://[::1/",
        "http://b%2ec/",
        "https://b\\c/",
    ])
    func `a reference that does not lead to a server is refused`(text: String) {
        #expect(throws: URIReference.Fault.self) { try URIReference(text) }
    }
}
