import NetproxyConfig
import Testing

/// Tests of the region and service that an AWS host contains.
@Suite struct AWSEndpointTests {
    @Test(arguments: [
        ("s3.eu-central-1.amazonaws.com", "eu-central-1", "s3"),
        ("my.bucket.s3.eu-central-1.amazonaws.com", "eu-central-1", "s3"),
        ("us-data-1.s3.eu-central-1.amazonaws.com", "eu-central-1", "s3"),
        ("bucket.s3.dualstack.ap-south-1.amazonaws.com", "ap-south-1", "s3"),
        ("s3-fips.dualstack.us-east-1.amazonaws.com", "us-east-1", "s3"),
        ("bucket.s3-us-west-2.amazonaws.com", "us-west-2", "s3"),
        ("s3-fips-us-gov-west-1.amazonaws.com", "us-gov-west-1", "s3"),
        ("s3-external-1.amazonaws.com", "us-east-1", "s3"),
        ("bucket.s3.amazonaws.com", "us-east-1", "s3"),
        ("s3.cn-north-1.amazonaws.com.cn", "cn-north-1", "s3"),
        ("ap-1234.s3-accesspoint.eu-west-1.amazonaws.com", "eu-west-1", "s3"),
        ("123456789012.s3-control.eu-west-1.amazonaws.com", "eu-west-1", "s3"),
        ("x-123.s3-object-lambda.eu-west-1.amazonaws.com", "eu-west-1", "s3-object-lambda"),
        ("b--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com", "us-east-1", "s3express"),
        ("bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com", "us-east-1", "s3"),
        ("dynamodb.us-west-2.amazonaws.com", "us-west-2", "dynamodb"),
        ("123456789012.ddb.us-west-2.amazonaws.com", "us-west-2", "dynamodb"),
        ("bedrock-runtime.us-east-1.amazonaws.com", "us-east-1", "bedrock"),
        ("bedrock-runtime-fips.us-east-1.amazonaws.com", "us-east-1", "bedrock"),
        ("runtime.sagemaker.eu-west-1.amazonaws.com", "eu-west-1", "sagemaker"),
        ("email.eu-west-1.amazonaws.com", "eu-west-1", "ses"),
        ("a1b2c3d4.execute-api.eu-north-1.amazonaws.com", "eu-north-1", "execute-api"),
        ("abcd.lambda-url.eu-west-3.on.aws", "eu-west-3", "lambda"),
        ("search-orders-x1.eu-central-1.es.amazonaws.com", "eu-central-1", "es"),
        ("x1.eu-central-1.aoss.amazonaws.com", "eu-central-1", "aoss"),
        ("a1b2-ats.iot.eu-west-1.amazonaws.com", "eu-west-1", "iotdata"),
        ("iot.eu-west-1.amazonaws.com", "eu-west-1", "iot"),
        ("123456789012.dkr.ecr.eu-west-1.amazonaws.com", "eu-west-1", "ecr"),
        ("lambda.eu-west-1.api.aws", "eu-west-1", "lambda"),
        ("sts.eusc-de-east-1.amazonaws.eu", "eusc-de-east-1", "sts"),
        ("sqs.us-gov-east-1.amazonaws.com", "us-gov-east-1", "sqs"),
        ("eu-west-1.queue.amazonaws.com", "eu-west-1", "sqs"),
        ("cloudsearchdomain.eu-west-1.amazonaws.com", "eu-west-1", "cloudsearch"),
        ("search-films-x1.eu-west-1.cloudsearch.amazonaws.com", "eu-west-1", "cloudsearch"),
        ("eventsv2.eu-west-1.amazonaws.com", "eu-west-1", "events"),
        ("cloudwatch-omni.eu-west-1.amazonaws.com", "eu-west-1", "cloudwatch"),
        ("iam-toolbox.us-east-1.amazonaws.com", "us-east-1", "iam"),
        ("partnercentral-prm.us-east-1.api.aws", "us-east-1", "partnercentral"),
        ("account-access-runtime.us-east-1.api.aws", "us-east-1", "account-access"),
        ("agent-registry-control.us-east-1.api.aws", "us-east-1", "agent-registry"),
        ("iam.amazonaws.com", "us-east-1", "iam"), ("sts.amazonaws.com", "us-east-1", "sts"),
        ("global.health.amazonaws.com", "us-east-1", "health"),
        ("iam.us-gov.amazonaws.com", "us-gov-west-1", "iam"),
        ("route53.amazonaws.com.cn", "cn-northwest-1", "route53"),
    ])
    func `an AWS host contains the region and the service`(
        host: String,
        region: String,
        service: String
    ) {
        let endpoint = AWSEndpoint(host: host)
        #expect(endpoint.region == region)
        #expect(endpoint.service == service)
    }

    @Test(arguments: [
        "127.0.0.1", "localhost", "api.example.com", "eu-west-1.example.com", "amazonaws.com",
        "xamazonaws.com", "unknown.amazonaws.com", "my-bucket-1.amazonaws.com",
    ])
    func `another host contains neither region nor service`(host: String) {
        #expect(AWSEndpoint(host: host).region == nil)
        #expect(AWSEndpoint(host: host).service == nil)
    }

    @Test func `the host of an accelerated bucket contains no region`() {
        let endpoint = AWSEndpoint(host: "bucket.s3-accelerate.dualstack.amazonaws.com")
        #expect(endpoint.region == nil)
        #expect(endpoint.service == "s3")
    }
}
