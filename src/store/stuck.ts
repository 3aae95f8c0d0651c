// Time limits for a case in which the driver waits forever. If it writes a command after a socket has ended and before
// its `close` event, the command never ends, because mongodb 7.8 waits for a `drain` event. If the command was a
// heartbeat, the driver never checks that server again.
import type { MongoClient } from 'mongodb'
import { StoreUnavailable } from './store.js'

/** A heartbeat may take this many times the driver's own time limits before it counts as stuck. */
const HEARTBEAT_FACTOR = 3

/** Waits for an operation. If it has not ended after `mostMs` milliseconds, it throws StoreUnavailable. */
export const withTimeLimit = <T>(mostMs: number, operation: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new StoreUnavailable(new Error(`No reply after ${mostMs} ms`))), mostMs)
    operation.then(resolve, reject).finally(() => clearTimeout(timer))
  })

/** Calls back when a heartbeat is stuck, once. */
export const whenStuck = (client: MongoClient, callback: () => void): void => {
  const { heartbeatFrequencyMS, connectTimeoutMS } = client.options
  const mostMs = HEARTBEAT_FACTOR * (heartbeatFrequencyMS + connectTimeoutMS)
  const timers = new Map<string, NodeJS.Timeout>()
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
    for (const address of timers.keys()) stop(address)
    callback()
  }
  client.on('serverHeartbeatStarted', start)
  client.on('serverHeartbeatSucceeded', ({ connectionId: address }) => stop(address))
  client.on('serverHeartbeatFailed', ({ connectionId: address }) => stop(address))
  client.on('serverClosed', ({ address }) => stop(address))
}
