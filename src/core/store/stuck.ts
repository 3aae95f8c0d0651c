// Ends what the driver waits for forever. If it writes a command after a socket has ended and before its `close` event, the
// command never ends, because mongodb 7.8 waits for a `drain` event, and its connection is never free again. If the command
// was a heartbeat, the driver never checks that server again.
import { setTimeout as sleep } from 'node:timers/promises'
import type { MongoClient, TopologyDescriptionChangedEvent } from 'mongodb'
import { StoreUnavailable } from './store.js'

/** A heartbeat may take this many times the driver's own time limits before it counts as stuck. */
const HEARTBEAT_FACTOR = 3
/** The driver looks again half a second after a reset. A server that it finds within this time was not lost. */
const FOUND_AGAIN_MS = 1000

export class Running {
  readonly #fails = new Set<(ms: number) => void>()

  /** Waits for an operation. If it has not ended after `mostMs` milliseconds, it throws StoreUnavailable. */
  wait<T>(mostMs: number, operation: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer)
        this.#fails.delete(fail)
      }
      const fail = (ms: number): void => {
        over()
        reject(new StoreUnavailable(new Error(`No reply after ${ms} ms`)))
      }
      const timer = setTimeout(fail, mostMs, mostMs)
      this.#fails.add(fail)
      operation.then(resolve, reject).finally(over)
    })
  }

  /** Fails what runs now and has not ended after `ms` milliseconds, if the server was lost. Returns whether any did. */
  async endAll(ms: number, isLost: () => boolean): Promise<boolean> {
    const begun = [...this.#fails]
    await sleep(FOUND_AGAIN_MS, undefined, { ref: false })
    if (!isLost()) return false
    await sleep(Math.max(0, ms - FOUND_AGAIN_MS), undefined, { ref: false })
    const stuck = begun.filter((fail) => this.#fails.has(fail))
    for (const fail of stuck) fail(ms)
    return stuck.length > 0
  }
}

/**
 * Calls back when a client is of no more use, once: when a heartbeat is stuck, or when operations are that were running as the
 * last server was lost. Another one would have found a server in the time that they get, or failed.
 */
export const whenStuck = (client: MongoClient, running: Running, callback: () => void): void => {
  const { heartbeatFrequencyMS, connectTimeoutMS, serverSelectionTimeoutMS } = client.options
  const mostMs = HEARTBEAT_FACTOR * (heartbeatFrequencyMS + connectTimeoutMS)
  const timers = new Map<string, NodeJS.Timeout>()
  const over = new AbortController()
  over.signal.addEventListener('abort', callback)
  const stop = (address: string): void => {
    clearTimeout(timers.get(address))
    timers.delete(address)
  }
  const start = ({ connectionId: address }: { connectionId: string }): void => {
    stop(address)
    timers.set(address, setTimeout(end, mostMs).unref())
  }
  const end = (): void => {
    client.off('serverHeartbeatStarted', start)
    client.off('topologyDescriptionChanged', lose)
    for (const address of timers.keys()) stop(address)
    over.abort()
  }
  let isLost = false
  const lose = async ({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): Promise<void> => {
    isLost = !newDescription.hasDataBearingServers
    if (!isLost || !previousDescription.hasDataBearingServers) return
    // The driver looks for a server when somebody wants one.
    const ping = client.db().command({ ping: 1 })
    ping.catch(() => {})
    if (await running.endAll(serverSelectionTimeoutMS + connectTimeoutMS, () => isLost)) end()
  }
  client.on('serverHeartbeatStarted', start)
  client.on('serverHeartbeatSucceeded', ({ connectionId: address }) => stop(address))
  client.on('serverHeartbeatFailed', ({ connectionId: address }) => stop(address))
  client.on('serverClosed', ({ address }) => stop(address))
  client.on('topologyDescriptionChanged', lose)
}
