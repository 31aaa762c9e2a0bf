package import NetproxyConfig
import NetproxySystem
import NetworkCore
package import OAuth

/// Reads the secrets and files of channels.
package struct InputReader: Sendable {
    let resolver: SecretResolver
    /// The clients with the servers of stored sign-ins.
    let oauthClients: OAuthAssembly

    /// Reads the secrets and files of a channel, never on an event loop.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - configuration: the configuration, with the positions for messages.
    ///   - secrets: reads each secret once.
    ///   - earlier: the server of an earlier sign-in, used if the store cannot be read.
    /// - Returns: the values, and the problems of missing secrets and files.
    package func read(
        _ channel: ChannelConfiguration,
        of configuration: ProxyConfiguration,
        with secrets: SecretReader,
        knowing earlier: PinnedServer? = nil
    ) async -> ChannelReading {
        let (references, documents) = (channel.secretReferences, channel.documentReferences)
        await secrets.runPrograms(secrets: references, documents: documents)
        let (files, problems) = await OffLoop.run {
            let files = ChannelInputs(files: channel.files)
            return (files, configuration.problems(of: files, in: channel.name))
        }
        var reading = ChannelReading(files, problems)
        reading.note(await oauthClients.stored(of: channel, orKnown: earlier), of: channel)
        func note(_ error: SecretError, of reference: SecretReference) {
            let place = configuration.error(of: reference, in: channel.name, error.outcome)
            reading.note(reference, error, at: place)
        }
        for reference in references {
            do throws(SecretError) {
                reading.note(reference, try await secrets.secret(reference))
            } catch {
                note(error, of: reference)
            }
        }
        for reference in documents {
            do throws(SecretError) {
                reading.note(reference, document: try await secrets.document(reference))
            } catch {
                note(error, of: reference)
            }
        }
        reading.lifetime = secrets.lifetime
        return reading
    }

    /// Reads the inputs of all channels concurrently.
    ///
    /// - Parameters:
    ///   - configuration: the configuration.
    ///   - servers: the servers of earlier sign-ins, by channel.
    ///   - patience: the time after which readings continue in the background.
    /// - Returns: one reading for each channel, in the order of the channels.
    func read(
        _ configuration: ProxyConfiguration,
        knowing servers: [String: PinnedServer],
        patience: Duration
    ) async -> [PendingReading] {
        let secrets = SecretReader(resolver)
        let (results, result) = AsyncStream<(Int, ChannelReading)>.makeStream()
        var readings = configuration.channels.enumerated().map { index, channel in
            PendingReading(
                task: Task {
                    let reading = await read(
                        channel,
                        of: configuration,
                        with: secrets,
                        knowing: servers[channel.name]
                    )
                    result.yield((index, reading))
                    return reading
                }
            )
        }
        let timer = Task {
            do { try await Task.sleep(for: patience) } catch { return }
            result.finish()
        }
        defer { timer.cancel() }
        var missing = readings.count
        if missing == 0 { return readings }
        for await (index, reading) in results {
            readings[index].ended = reading
            missing -= 1
            if missing == 0 { break }
        }
        if Task.isCancelled {
            for reading in readings { reading.task.cancel() }
            await waitForEnd(of: readings.map(\.task))
        }
        return readings
    }
}

extension ProxyConfiguration {
    /// Returns the errors of a channel's unreadable files, with their positions.
    fileprivate func problems(
        of inputs: ChannelInputs,
        in channel: String
    ) -> [ConfigurationError] {
        inputs.files.filter { $0.value == nil }.keys.sorted().map { path in
            error(in: channel, FileProblem.unusable(path)) { $0.names([], [path]) }
        }
    }

    /// Returns the error of a secret, at the key that names it.
    fileprivate func error(
        of reference: SecretReference,
        in channel: String,
        _ message: String
    ) -> ConfigurationError {
        error(in: channel, message) { $0.secret == reference }
    }

    /// Returns the error of a secret or file, at the key that names it.
    ///
    /// The key belongs to the channel, to an inherited section, or to another channel.
    private func error(
        in channel: String,
        _ message: String,
        of isMeant: (Mention.Resource) -> Bool
    ) -> ConfigurationError {
        let named = mentions.filter { isMeant($0.resource) }
        let mention =
            named.first { $0.key.hasPrefix("channels.\(channel).") }
            ?? named.first { !$0.key.hasPrefix("channels.") } ?? named.first
        return ConfigurationError(
            file: file(at: mention?.position ?? .start),
            position: mention?.position ?? .start,
            key: mention?.key ?? "channels.\(channel)",
            message: message
        )
    }
}
