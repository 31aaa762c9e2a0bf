import EventIO
import HTTP1
import ProxyConfig

extension Daemon {
    /// What a loop gets of the keys at the top.
    func workerSettings(_ configuration: ProxyConfiguration) -> Worker.Settings {
        let limits = configuration.limits
        var wire = HTTP1Limits()
        wire.sectionSize = limits.headerSize.bytes
        wire.fieldCount = limits.headerCount
        wire.targetSize = limits.targetSize.bytes
        return Worker.Settings(
            bounds: DownstreamConnection.Bounds(
                limits: wire,
                headTimeout: limits.headTimeout,
                bodyRate: limits.bodyRate?.bytes,
                parkDelay: Worker.parkDelay
            ),
            connections: limits.connections,
            connectionCount: connectionCount,
            spread: loops.count > 1 ? spread : nil,
            mayPoll: configuration.busyPoll == .auto,
            console: console,
            stalls: stalls
        )
    }

    /// Opens sockets that nobody accepts from yet.
    ///
    /// - Throws: `IOError.system` that names the address; what was opened is closed again.
    func open(_ places: [ListenPlace]) throws -> [ServedAddress] {
        var opened: [ServedAddress] = []
        for place in places {
            for socket in try SharedSocket.open(place.address, inherited) {
                listenerCount += 1
                opened.append(ServedAddress(socket: socket, place: place, number: listenerCount))
            }
        }
        return opened
    }

    /// Refuses sockets of systemd's that other machines can reach, unless the configuration says that
    /// they may: where those listen is known here first.
    ///
    /// - Throws: `IOError.system` that names the address.
    func checkReach(of configuration: ProxyConfiguration) throws(IOError) {
        guard !configuration.allowRemote else { return }
        for place in configuration.listenPlaces {
            guard case .systemd(let name) = place.address else { continue }
            for socket in try inherited.named(name) where !socket.address.isLoopback {
                throw .system(
                    "cannot listen on systemd:\(name): '\(socket.address)' is not a loopback address, "
                        + "set allow_remote: true"
                )
            }
        }
    }

    /// Accepts from sockets on every loop.
    func serve(_ opened: [ServedAddress]) async throws {
        for served in opened where !isStopping {
            listeners.append(served)
            for worker in workers {
                let failure = await worker.call { worker -> IOError? in
                    do throws(IOError) {
                        try worker.listen(
                            on: served.socket.socket,
                            number: served.number,
                            channel: served.channel
                        )
                        return nil
                    } catch {
                        return error
                    }
                }
                if let failure { throw failure }
            }
        }
    }

    /// Accepts no more from sockets; what came over them has the time of `drain`.
    func stopServing(_ closed: [ServedAddress]) async {
        let limit = configuration.drain
        for served in closed {
            for worker in workers {
                await worker.call { $0.stopListening(served.number, within: limit) }
            }
            listeners.removeAll { $0.number == served.number }
        }
    }
}

extension ProxyConfiguration {
    /// Where to listen: the shared listeners first, then the channels' own.
    var listenPlaces: [ListenPlace] {
        listen.map { ListenPlace(address: $0, channel: nil) }
            + channels.compactMap { channel in
                channel.match.listen.map { ListenPlace(address: $0, channel: channel.name) }
            }
    }

    /// The keys that differ and that only a start reads.
    func needingRestart(comparedTo next: ProxyConfiguration) -> [String] {
        var keys: [String] = []
        if next.workers != workers { keys.append("workers") }
        if next.admin != admin { keys.append("admin") }
        if next.state != state { keys.append("state") }
        if next.stateKey != stateKey { keys.append("state_key") }
        if next.log.output != log.output { keys.append("log.output") }
        if next.log.format != log.format { keys.append("log.format") }
        return keys
    }
}
