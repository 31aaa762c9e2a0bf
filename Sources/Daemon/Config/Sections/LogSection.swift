import NetproxySettings

struct LogKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ format: json }"

    let directory = Key("directory", .absolutePath)
    let output = Key("output", .choice(LogSettings.Output.self), default: "file")
    let format = Key("format", .choice(LogFormat.self), default: "json")
    let rotate = Key("rotate", .off(or: .map(RotationKeys.self)), default: [:])
}

struct RotationKeys: SectionKeys {
    static let table = KeyTable(Self())

    let size = Key("size", .size(in: .kibibytes(64) ... .mebibytes(1 << 20)), default: "64MiB")
    let keep = Key("keep", .integer(0...1000), default: 5)
}

extension LogSettings {
    init(_ log: Section<LogKeys>, directories: DefaultDirectories) {
        self.init(
            directory: log.directory.directory(log[\.directory], or: directories.log),
            output: log[\.output],
            format: log[\.format],
            rotate: log[\.rotate].map { Rotation(size: $0[\.size], keep: $0[\.keep]) }
        )
        if output == .journal { log.output.mention(.journal(LogSettings.journalPath)) }
    }
}
