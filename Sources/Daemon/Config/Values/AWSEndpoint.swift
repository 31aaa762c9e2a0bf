/// The region and the service in the host of an AWS endpoint, used in signatures.
package struct AWSEndpoint: Sendable, Hashable {
    /// The region, such as `eu-central-1`; `nil` if the host does not contain one.
    package private(set) var region: String?
    /// The signing name of the service, such as `s3`; `nil` if the host does not contain one.
    package private(set) var service: String?

    /// Parses a host name in lower case; a host outside of AWS has neither region nor service.
    package init(host: String) {
        guard let suffix = Self.suffixes.first(where: { host.hasSuffix(".\($0)") }) else { return }
        var labels = host.dropLast(suffix.utf8.count + 1).split(separator: ".")
        if labels.last == "vpce" { labels.removeLast() }
        guard let last = labels.last else { return }
        if Self.isRegion(last) {
            region = String(last)
            service = Self.service(in: labels.dropLast())
        } else if let place = labels.dropLast().last, Self.isRegion(place) {
            // search-orders-x1.eu-central-1.es.amazonaws.com
            region = String(place)
            service = Self.afterRegion[last] ?? Self.signingName(of: last)
        } else if let place = Self.regionOfS3(last) {
            (region, service) = (place, "s3")
        } else if last == "s3-accelerate" || labels.suffix(2) == ["s3-accelerate", "dualstack"] {
            service = "s3"
        } else if let row = Self.global[labels.suffix(2).joined(separator: ".") + "." + suffix]
            ?? Self.global["\(last).\(suffix)"]
        {
            (region, service) = (row, last == "us-gov" ? String(labels[0]) : String(last))
        }
    }

    /// The domains of AWS endpoints, by partition; the longer of two comes first.
    private static let suffixes = [
        "api.amazonwebservices.com.cn", "amazonaws.com.cn", "amazonaws.com", "api.aws", "on.aws",
        "api.amazonwebservices.eu", "amazonaws.eu", "sc2s.sgov.gov", "c2s.ic.gov",
        "cloud.adc-e.uk", "csp.hci.ic.gov",
    ]

    /// Endpoints without a region in their names, and the region in their signatures.
    private static let global = [
        "budgets.amazonaws.com": "us-east-1", "cloudfront.amazonaws.com": "us-east-1",
        "ec2.amazonaws.com": "us-east-1", "global.health.amazonaws.com": "us-east-1",
        "iam.amazonaws.com": "us-east-1", "route53.amazonaws.com": "us-east-1",
        "s3.amazonaws.com": "us-east-1", "savingsplans.amazonaws.com": "us-east-1",
        "sdb.amazonaws.com": "us-east-1", "sts.amazonaws.com": "us-east-1",
        "waf.amazonaws.com": "us-east-1", "iam.us-gov.amazonaws.com": "us-gov-west-1",
        "route53.us-gov.amazonaws.com": "us-gov-west-1",
        "budgets.amazonaws.com.cn": "cn-northwest-1",
        "global.health.amazonaws.com.cn": "cn-northwest-1",
        "route53.amazonaws.com.cn": "cn-northwest-1",
    ]

    /// Names after the region that differ from the signing name.
    private static let afterRegion: [Substring: String] = [
        "neptune": "neptune-db", "queue": "sqs",
    ]

    /// Names of endpoints that differ from the signing name of their service; some consist of two labels.
    private static let signingNames = [
        "a2i-runtime.sagemaker": "sagemaker", "account-access-runtime": "account-access",
        "admin.wickr": "wickr", "agent-registry-control": "agent-registry",
        "agreement-marketplace": "aws-marketplace", "api.tunneling.iot": "IoTSecuredTunneling",
        "appconfigdata": "appconfig", "appstream2": "appstream", "appsync-api": "appsync",
        "aps-workspaces": "aps", "bedrock-agent": "bedrock", "bedrock-agent-runtime": "bedrock",
        "bedrock-agentcore-control": "bedrock-agentcore", "bedrock-data-automation": "bedrock",
        "bedrock-data-automation-runtime": "bedrock", "bedrock-runtime": "bedrock",
        "cassandra-streams": "cassandra", "catalog.marketplace": "aws-marketplace",
        "cloudhsmv2": "cloudhsm", "cloudsearchdomain": "cloudsearch",
        "cloudwatch-omni": "cloudwatch", "contact-lens": "connect", "data-ats.iot": "iotdata",
        "data-signer": "signer", "data.iotevents": "ioteventsdata",
        "data.jobs.iot": "iot-jobs-data",
        "ddb": "dynamodb", "deployment-marketplace": "aws-marketplace",
        "discovery-marketplace": "aws-marketplace", "email": "ses",
        "entitlement.marketplace": "aws-marketplace", "eventsv2": "events",
        "forecastquery": "forecast",
        "grafana-workspace": "grafana", "iam-toolbox": "iam", "identity-chime": "chime",
        "ivsrealtime": "ivs",
        "lambda-url": "lambda", "mail-manager": "ses", "media-pipelines-chime": "chime",
        "meetings-chime": "chime", "memory-db": "memorydb", "messaging-chime": "chime",
        "metering.marketplace": "aws-marketplace", "migrationhub-config": "mgh",
        "models-v2-lex": "lex", "models.lex": "lex", "oidc": "sso-oauth",
        "participant.connect": "execute-api", "partnercentral-prm": "partnercentral",
        "personalize-events": "personalize",
        "personalize-runtime": "personalize", "pinpoint": "mobiletargeting",
        "portal.sso": "awsssoportal", "reporting-marketplace": "aws-marketplace",
        "runtime-v2-lex": "lex", "runtime.lex": "lex", "s3-accesspoint": "s3", "s3-control": "s3",
        "s3express-control": "s3express", "servicecatalog-appregistry": "servicecatalog",
        "sms-voice.pinpoint": "sms-voice", "streams.dynamodb": "dynamodb",
        "transcribestreaming": "transcribe", "voice-chime": "chime",
    ]

    /// Returns the service named by the labels before a region.
    private static func service(in labels: ArraySlice<Substring>) -> String? {
        var labels = labels
        if labels.last == "dualstack" { labels.removeLast() }
        guard let last = labels.last else { return nil }
        for count in stride(from: min(labels.count, 3), to: 1, by: -1) {
            let name = labels.suffix(count).map { withoutFIPS($0) }.joined(separator: ".")
            if let service = signingNames[name] { return service }
        }
        // The endpoint of an account's devices: a1b2c3-ats.iot.eu-central-1.
        if last == "iot", labels.count > 1 { return "iotdata" }
        return signingName(of: last)
    }

    private static func signingName(of label: Substring) -> String {
        let name = withoutFIPS(label)
        if name.hasPrefix("s3express-") { return "s3express" }
        return signingNames[name] ?? name
    }

    private static func withoutFIPS(_ label: Substring) -> String {
        label.hasSuffix("-fips") ? String(label.dropLast(5)) : String(label)
    }

    /// Returns the region in an older name of S3: `s3-us-west-2`, `s3-fips-us-gov-west-1`.
    private static func regionOfS3(_ label: Substring) -> String? {
        guard label.hasPrefix("s3-") else { return nil }
        if label == "s3-external-1" { return "us-east-1" }
        let rest = label.dropFirst(label.hasPrefix("s3-fips-") ? 8 : 3)
        return isRegion(rest) ? String(rest) : nil
    }

    private static let continents: Set<Substring> = [
        "af", "ap", "ca", "cn", "eu", "eusc", "il", "me", "mx", "sa", "us",
    ]

    /// Whether a label is the name of a region: `eu-central-1`, `us-gov-west-1`.
    private static func isRegion(_ label: Substring) -> Bool {
        let words = label.split(separator: "-", omittingEmptySubsequences: false)
        guard words.count >= 3, let first = words.first, let number = words.last else {
            return false
        }
        return continents.contains(first) && (1...2).contains(number.utf8.count)
            && number.allSatisfy { $0.isASCII && $0.isNumber }
            && words.dropLast().allSatisfy { word in
                !word.isEmpty && word.allSatisfy { $0.isASCII && $0.isLetter }
            }
    }
}
