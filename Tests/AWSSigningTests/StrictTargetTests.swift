import NetproxyAWSSigning
import Testing

/// Request targets, as sent and as signed.
@Suite struct StrictTargetTests {
    private static let s3 = SigningScope(region: "us-east-1", service: "s3")
    private static let other = SigningScope(region: "us-east-1", service: "execute-api")

    @Test(arguments: [
        ("/", "/", ""),
        ("/a//b/../c", "/a//b/../c", ""),
        ("/a%20b", "/a%20b", ""),
        ("/k?acl", "/k", "acl="),
        ("/k?", "/k", ""),
        ("/k?b=2&a=%2F&a=", "/k", "a=&a=%2F&b=2"),
        ("/k?a-b=1&a=2", "/k", "a=2&a-b=1"),
    ])
    func `a strict target is sent byte for byte`(target: String, path: String, query: String) {
        let strict = StrictTarget(target, for: Self.s3)
        #expect(strict.text == target)
        #expect(strict.canonicalPath == path)
        #expect(strict.canonicalQuery == query)
    }

    @Test(arguments: [
        ("/a+b", "/a%2Bb"), ("/a%2fb", "/a%2Fb"), ("/%41~%7e", "/A~~"), ("/a(b)", "/a%28b%29"),
        ("/a%zz%", "/a%25zz%25"), ("/k?q=a+b", "/k?q=a%20b"), ("/k?q=a/b;c", "/k?q=a%2Fb%3Bc"),
        ("/k?q=a=b", "/k?q=a%3Db"), ("/k?&a=1&&b", "/k?a=1&b"), ("/k?%61=%c3%a9", "/k?a=%C3%A9"),
        ("/k?AWSAccessKeyId=x&Signature=y&Expires=1&uploads", "/k?uploads"),
        ("/k?X-Amz-Signature=0&X-Amz-Date=d&X-Amz-Expires=9&uploads", "/k?uploads"),
        ("/k?X-Amz-Algorithm=AWS4&X-Amz-Credential=c&uploads", "/k?uploads"),
    ])
    func `another one is respelled for S3`(target: String, sent: String) {
        let strict = StrictTarget(target, for: Self.s3)
        #expect(strict.text == sent)
        #expect(StrictTarget(sent, for: Self.s3).text == sent)
    }

    @Test(arguments: [
        ("/", "/"), ("/a/./b//c/../d", "/a/b/d"), ("/a/", "/a/"), ("/..", "/"), ("/a/..//", "/"),
        ("/arn%3Aaws", "/arn%253Aaws"), ("/arn:aws", "/arn%3Aaws"), ("/%41+", "/%2541%2B"),
    ])
    func `of any other service the path is sent as it came`(path: String, canonical: String) {
        let strict = StrictTarget("\(path)?q=a+b", for: Self.other)
        #expect(strict.text == "\(path)?q=a%20b")
        #expect(strict.canonicalPath == canonical)
    }

    @Test(arguments: [
        "Expires=1&Signature=x", "AWSAccessKeyId=x", "AWSAccessKeyId=x&Expires=1",
        "X-Amz-Date=x&X-Amz-Expires=1", "AWSAccessKeyId=x&X-Amz-Date=x",
    ])
    func `a parameter with the name of a signature's parameter stays without a signature`(
        query: String
    ) {
        #expect(StrictTarget("/?\(query)", for: Self.other).text == "/?\(query)")
    }

    @Test(arguments: [s3, other]) func `OPTIONS * stays`(scope: SigningScope) {
        #expect(StrictTarget("*", for: scope).text == "*")
    }
}
