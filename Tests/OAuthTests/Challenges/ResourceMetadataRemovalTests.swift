import NetworkCore
import Testing

@testable import OAuth

/// Challenges for a client that must not sign in by itself.
@Suite struct ResourceMetadataRemovalTests {
    @Test(arguments: [
        (#"Bearer resource_metadata="https://m/x""#, "Bearer"),
        (#"Bearer resource_metadata="https://m/x", scope="a b""#, #"Bearer scope="a b""#),
        (#"Bearer scope="a", resource_metadata="https://m/x""#, #"Bearer scope="a""#),
        (
            #"Bearer realm="r",resource_metadata="https://m/x" , scope="a""#,
            #"Bearer realm="r" , scope="a""#
        ),
        (#"Bearer resource_metadata=token, scope=a"#, "Bearer scope=a"),
        (#"Bearer Resource_Metadata = "https://m/x",scope=a"#, "Bearer scope=a"),
        (
            #"Bearer resource_metadata="https://m/x", Basic realm="b""#,
            #"Bearer, Basic realm="b""#
        ),
        (
            #"Basic realm="b", Bearer resource_metadata="https://m/x""#,
            #"Basic realm="b", Bearer"#
        ),
        (
            #"Bearer error="e", resource_metadata="x", DPoP resource_metadata="y", algs="ES256""#,
            #"Bearer error="e", DPoP algs="ES256""#
        ),
        (#"Negotiate abc==, Bearer resource_metadata="x", a=b"#, "Negotiate abc==, Bearer a=b"),
        (#"Bearer resource_metadata="a\"b, c", scope="s""#, #"Bearer scope="s""#),
    ])
    func `the parameter goes and the rest stays as it was`(_ line: String, _ rest: String) {
        #expect(ResourceMetadataRemoval.removed(from: line) == rest)
    }

    @Test(arguments: [
        #"Bearer realm="resource_metadata=x, y", scope="s""#,
        #"Bearer error_description="see resource_metadata""#, "Bearer", "resource_metadata",
        #"Bearer xresource_metadata="a""#, #"Bearer resource_metadata_x="a""#, "",
        "Basic  realm = r ,",
    ])
    func `everything but the parameter stays`(_ line: String) {
        #expect(ResourceMetadataRemoval.removed(from: line) == line)
    }

    @Test(arguments: [
        ("Bearer resource_metadata=https://m/x, scope=a", "Bearer scope=a"),
        ("Bearer resource_metadata='https://m/x' scope=a", "Bearer scope=a"),
        (#"Bearer resource_metadata="https://m/x"#, "Bearer"),
        (#"Bearer error="e, resource_metadata="https://m/x""#, #"Bearer error="e"#),
        ("Bearer error=\"e\" resource_metadata=\"https://m/x\"", "Bearer error=\"e\""),
        ("Bearer resource_metadata=", "Bearer"),
    ])
    func `the parameter is found in malformed lines`(_ line: String, _ rest: String) {
        let edited = ResourceMetadataRemoval.removed(from: line)
        #expect(!edited.contains("resource_metadata"))
        #expect(edited.filter { $0 != " " } == rest.filter { $0 != " " })
    }

    @Test func `every line of the field is edited, and an empty one goes`() {
        var headers: HTTPHeaders = [.wwwAuthenticate: #"Bearer resource_metadata="x", a="1""#]
        headers.append(.wwwAuthenticate, validated: #"resource_metadata="y""#)
        headers.append(.wwwAuthenticate, validated: "Basic realm=\"r\"")
        headers.append(.contentType, validated: "text/plain")
        ResourceMetadataRemoval.edit(&headers)
        #expect(headers.values(of: .wwwAuthenticate) == [#"Bearer a="1""#, "Basic realm=\"r\""])
        #expect(headers[.contentType] == "text/plain")
    }

    @Test func `cut short anywhere, a line never keeps a whole parameter`() {
        let line = #"Basic realm="b", Bearer a="1", resource_metadata="https://m/x", b="2""#
        for length in 0...line.utf8.count {
            let edited = ResourceMetadataRemoval.removed(from: String(line.prefix(length)))
            #expect(!edited.contains("resource_metadata="))
        }
    }
}
