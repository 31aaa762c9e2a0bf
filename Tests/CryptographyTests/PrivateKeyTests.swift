import NetproxyCryptography
import Testing

/// Keys and signatures against published ones.
@Suite struct PrivateKeys {
    /// The key of RFC 7515 A.3, in SEC1.
    private static let p256 =
        """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
        AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
        focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END EC PRIVATE KEY-----
        """

    /// The same key in other forms: without its public half, and with a compressed point.
    private static let spellings = [
        """
        -----BEGIN EC PRIVATE KEY-----
        MDECAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
        AwEH
        -----END EC PRIVATE KEY-----
        """,
        """
        -----BEGIN EC PRIVATE KEY-----
        MFcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
        AwEHoSQDIgADf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU=
        -----END EC PRIVATE KEY-----
        """,
    ]

    /// The coordinates of its point, as published there.
    private let point = bytes(
        """
        7fcdce2770f6c45d4183cbee6fdb4b7b580733357be9ef13bacf6e3c7bd15445
        c7f144cd1bbd9b7e872cdfedb9eeb9f4b3695d6ea90b24ad8a4623288588e5ad
        """
    )

    @Test func `the signature of RFC 7515 A 3 is valid for its input only`() throws {
        let key = try #require(PublicKey(p256: point))
        let input =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
            + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        var signature = bytes(
            """
            0ed1215379636c483c2f7f155807d402a3b228033af97c7e17819ac3169ea665
            c50a07d38c3c70e5d8f12daf084a5480a66590c5f293509a8f3f7f8a83a354d5
            """
        )
        #expect(key.isSignature(signature, of: Array(input.utf8)))
        #expect(!key.isSignature(signature, of: Array(input.utf8.dropLast())))
        #expect(!key.isSignature(Array(signature.dropLast()), of: Array(input.utf8)))
        signature[40] ^= 1
        #expect(!key.isSignature(signature, of: Array(input.utf8)))
    }

    @Test func `a P-256 signature consists of two numbers of 32 bytes`() throws {
        let key = try #require(PrivateKey(pem: Self.p256))
        #expect(key.kind == .p256)
        let other = try #require(PublicKey(p256: point))
        for number in 0..<600 {
            let input = Array("\(number)".utf8)
            let signature = try #require(key.signature(of: input))
            #expect(signature.count == 64)
            #expect(other.isSignature(signature, of: input))
        }
    }

    @Test(arguments: spellings)
    func `another encoding of a key has the same point`(pem: String) throws {
        let key = try #require(PrivateKey(pem: pem))
        #expect(key.publicKey.point == point)
        #expect(key.publicKey.modulus == [] && key.publicKey.raw == [])
    }

    @Test(arguments: [
        // RFC 8032 §7.1, tests 1 and 3.
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            """
            e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155
            5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b
            """
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            """
            6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac
            18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a
            """
        ),
    ])
    func `an Ed25519 key signs as published in RFC 8032`(
        seed: String,
        publicKey: String,
        message: String,
        signature: String
    ) throws {
        let key = try #require(PrivateKey(ed25519Seed: bytes(seed)))
        #expect(key.publicKey.raw == bytes(publicKey))
        #expect(key.signature(of: bytes(message)) == bytes(signature))
        #expect(key.publicKey.isSignature(bytes(signature), of: bytes(message)))
        #expect(!key.publicKey.isSignature(bytes(signature), of: [0]))
    }

    @Test func `a point that is not on the curve is refused`() {
        #expect(PublicKey(p256: [UInt8](repeating: 7, count: 64)) == nil)
        #expect(PublicKey(p256: Array(point.dropLast())) == nil)
        #expect(PrivateKey(ed25519Seed: [1, 2, 3]) == nil)
    }

    /// Keys that are of another kind, too short, or damaged.
    private static let unusable: [(name: String, pem: String)] = [
        (
            "P-384",
            """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCpdgdL1nvZAczeMO9q
            yKsc2/7pkJNdKGx5Iq2mDkeaOMYoZKbJr3Ip5W+T/Dk5fHOhZANiAATY6MCciRnj
            GPp7USF+D0W/+3mREynE+tFvobsf+hrtRPEY24aYvEBIWbPo7Y4xkGvNLey7ft0+
            N5RZmqAD/wNYekay6+uH2G6jo4ocg7xgOWYkCZHUC9TMXXba29nl4eM=
            -----END PRIVATE KEY-----
            """
        ),
        (
            "secp256k1",
            """
            -----BEGIN PRIVATE KEY-----
            MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQglE37ERM64knEN7+4O/cF
            5WOVnUbcVMBuG+IhdXf3O8qhRANCAARHum/zcsypWGj00xDMupMdybLD2QVLMeY2
            TBAMPIt/hMnA3fopcUkaKgPgTTd3Q/Fx7OhLwJER7YMN+nkjaTPp
            -----END PRIVATE KEY-----
            """
        ),
        (
            "RSA of 1024 bits",
            """
            -----BEGIN PRIVATE KEY-----
            MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAKYar0Kbvq9aVXy+
            qsi0VW2HeMFRkPCcYtnCdWnBKqQC73YTOjzGKvWAl5ceJ6oofP+qxIL11qHmJhIi
            alOkK8R1L0iT/Cc9igg2b99lYzEixCkJ0lf6e5Yaey/NnzD8aKYZ58GaAgoMx0qB
            wYpK+PMBzQ4g6/km5A1DduTBVGZHAgMBAAECgYA0BqGkXEHSjJnAE7xMVud3AfqZ
            mmGqa2Eu0ZCTCjS/4Ed+lTElffBQqvFQHNrRmhLkxWj9l+CdHwgHoA3rmr02Lx7j
            4nHD6t4EW8o2v+BtSYbTDlI4BOqaRAl08g+PCIkIeULNGQi1D98Q4iNHYLfI9fOy
            TaeaJ19vZWYKVb2i0QJBANlb5aRoad8/4JBEtX0bcd4K6h362Zy29ZgmNdfBPPyz
            jsZnjFW4VmTCdzoNJs1vvcbDfCUaXywgHVUer1A2MakCQQDDoilwST5geRT099ZV
            45ZjSiGJcG0HhU657sxyJoXc6VI2XT8PD/7Z/XUxh0xUwKWwNdP3IXVGzvovQK23
            9K5vAkAEyt7sWhUDhCAKbklmIcXH9Ium75H+v5X4rdcAE9WpaLgcLcpNVYwqGpOQ
            ZxvU6cLQcBz7oHI6wdaDuvJ4nUlJAkEAr2sf9yRl/0FzLjlxAnDhb8SQD9o0mZLK
            ReS/g/fQ/oZkhoTUP2BbaAJibHfiVPitWTTbDPT+YPDE20wGuTV4lwJAXVXJGw0B
            euHp6wu6jqq3nzgrchxCBZmOqpDXd72GA3Thz+QYqeO0OKMQqIvDWf4oJvJnc3Nh
            Bk4T9/1ZOFX+hw==
            -----END PRIVATE KEY-----
            """
        ),
        (
            "X25519",
            """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VuBCIEIHAGz1d0ZYBCqbpGffEUHHZVKgaiwXtA9LZWMVPHSbBo
            -----END PRIVATE KEY-----
            """
        ),
        (
            "a passphrase",
            """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAif1YqMpaSb3gICCAAw
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEML/+/xHx1W//nhuBcHp7MEEQCRs
            e/Qkg24/QrLqXi4bRKD0EwNOb9VGYRidFxXIjx6tJMZxdWC3EDs2h3hvoIpHnaMo
            hAOZdS9hlIdT8SvSqfw=
            -----END ENCRYPTED PRIVATE KEY-----
            """
        ),
        (
            "RSA-PSS",
            """
            -----BEGIN PRIVATE KEY-----
            MIIEuwIBADALBgkqhkiG9w0BAQoEggSnMIIEowIBAAKCAQEAxd8lFgwMF67bxCKo
            C7NdgYZlYhHN3tZer3iR7juy0kIFq5W/Fsvn8PZ0X09ZOyfWWRLK+fjlxa0K6GQD
            cXp/faTlIp6C+CF/jeykPPQLk7PvRTQXPLH9y6nPtxiiPF/M7WntWMrp8MkGvFI6
            VoENgER+rf0YDrYYWgnokc6jUbAYdnOoueL2zQJLHZEGP9i9QusO0msNBmChgjn0
            GVTs7uLV02xBsDMOwCVRLNa1VG39MMn3OAEoXk9twx/I4xo8A6OO3tyccpD32Fg6
            plS5G0lby+iM6ZJNi3MMT6z43MC32RRAc25Om2ZzHDonhGS1S9QyAYg2SgRbgxOc
            LuC/bwIDAQABAoIBAAxSB0ENrR9dPhiL8nLYoZha0f2n4bbo9W8K3Hz9BeR2Vcnn
            643TwEtS3k7SXMfpFr1DPBTtMW6FT5Dqmd7bMUNw3MYgjmgYX5Tqn4J6Fi2X2aN6
            iX3cxwleksh7IUCgHQHJ8VVwqibHd95BQnVcj5kAxjvt3HaLLaBGKc9a7fTOiim9
            NhaGvkIekZK5WFM+9tO6iXYSrw15wZlnVCIja3CIi54mb1sgsd7FFhdrt0ZQsE2H
            ObNPk+JFw8F2dv4k5cWgKXy9QlWQnStUvm1OToZF6Mr1kCJrP04X7jp3EaNbEnji
            Tg6Cg6ku53whK3tEdvbyDRVIjx1zCsaSnitptwECgYEA7TupBxkoG0VjNFTnr6wI
            +XcyCq7b2WtI3hqAht8z32Gf/ecCGLKos9/Mb8TLQcaAqE/nbO9OmWawRMdh0q7m
            +VuMlUrShdZM19PxGdZ/mZL5GRjjX709zpEdFWtc/gBL6bWAe1RbdBEg4oWa9s3v
            hA0ePeo36DKe3i/LrVZtXm8CgYEA1YZa4keNreYFm9Fh4A5Pkd5uSoVavz+3sEdh
            QABkNw3Yyf9ZNAu4S5NejH5uTiqvzsuTWXlEum8q9GyDPo7Cy3sLpzDTfZnvSbMB
            P3fj1O9vuiILME1WEXl+h4jP+KE8Bvdk7a6u/IaWs8a2TR4nS+iYwwriGV3MQzmt
            okwzLwECgYBov0P1z2THDc8sxyR5i6N2yut8jhKioF1PPDJt2tXjlw52pG5ni1M0
            AOganbEFfOlH5+gOUGfLEe1YoRSPWwy/I24iaSQlVicd0QYO24gBvkRgkX2rwzos
            ICTQVVR9DpJ2Qd7WFbw/tmRnwIhY2zsbelNVETrYOqms/zuWcKff3wKBgACToVE1
            IkPS+DbohNwnDb32HNQksg8MLAHU34VduuePKQO6pdIHKhNCLaIxgTjC0sC7OgWm
            1zGttS790AjuN8Z26Zwk/J09OjE3w4wZVcswblvRVbhmrRHVAyt4ih9AyDm4l1Qx
            AZX7AxMvOTTSHQcOdMMqF1w8LZ4M3NQwYn8BAoGBAMKzh3ZDKl1lZ6DD6Kybn9SA
            TprB5JkK/0eRvNGLkUWDnyoUwyihLmPhueHgzLGrUmVHitlFcg/thXF6hAigqmYd
            28g1gyP6mwf/538GxP6mG4TI7HXzORH32LjT/JewSTu7KMC1/2YUASJ1CsKd6KAi
            jh8/Z3lh17Tqp5dqXGYQ
            -----END PRIVATE KEY-----
            """
        ),
        (
            "another public half",
            """
            -----BEGIN EC PRIVATE KEY-----
            MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
            AwEHoUQDQgAEjlM7b6C/e0YluzBmfAH7YH75+LioD+9bMAYocDGHsqNz6x294DMY
            Nm0Gn4Om9ZAAU8c2M8sEGyHFXhqGwfQAtA==
            -----END EC PRIVATE KEY-----
            """
        ),
    ]

    @Test(arguments: unusable.indices)
    func `a key that is of another kind, too short or damaged is refused`(index: Int) {
        let (name, pem) = Self.unusable[index]
        #expect(PrivateKey(pem: pem) == nil, "\(name)")
    }
}
