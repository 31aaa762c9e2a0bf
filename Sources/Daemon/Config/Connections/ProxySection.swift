import NetproxyHTTPMessage

struct ProxyKeys: SectionKeys {
    static let table = KeyTable(Self())

    let url = Key("url", .proxyURL)
    let username = Key("username", .username)
    let password = Key("password", .secret)
}

extension Form<ProxySettings> {
    /// A proxy: its URL, or a map with the URL, a user name and a password.
    static var proxy: Form {
        let form = Form<ScalarOrMap<EndpointURL, ProxyKeys>>.either(.proxyURL, or: ProxyKeys.self)
        return Form(form.shape) { slot in
            switch form.read(slot) {
            case .scalar(let url)?: ProxySettings(url: url)
            case .map(let section)?: settings(section)
            case nil: nil
            }
        }
    }

    private static func settings(_ section: Section<ProxyKeys>) -> ProxySettings? {
        section.url.requireWritten()
        if section.username.isWritten != section.password.isWritten {
            section.username.requireWritten()
            section.password.requireWritten()
        }
        let (username, password) = (section[\.username], section[\.password])
        guard let url = section[\.url] else { return nil }
        guard let username, let password else { return ProxySettings(url: url) }
        return ProxySettings(url: url, login: .init(username: username, password: password))
    }
}

extension Form<EndpointURL> {
    fileprivate static var proxyURL: Form {
        Form(.url) { slot in
            guard let url = Form.url.read(slot) else { return nil }
            guard url.origin.scheme == .http, url.target == "/" else {
                slot.report("expected a proxy such as http://proxy.example.com:3128")
                return nil
            }
            return url
        }
    }
}

extension Slot {
    /// Reports a URL that would expose secrets, unless `allow_insecure` is true.
    func checkExposure(of url: EndpointURL?, over proxy: ProxySettings?, unless insecure: Slot) {
        guard insecure.text != "true", let exposure = url?.origin.exposure(over: proxy) else {
            return
        }
        reading.require(exposure, at: place)
    }
}
