// Bounds on what the driver waits for. A command that it writes to a socket between the socket's end and its `close` event
// never ends (mongodb 7.9 waits for a `drain` event there), and a server whose heartbeat it was is never looked at again.
import type { MongoClient } from 'mongodb'
import { StoreUnavailable } from './store.js'

/** How many times its own bounds a heartbeat may take. */
const HEARTBEAT_FACTOR = 3

/**
 * An operation that ends after so many milliseconds at the latest.
 * @throws StoreUnavailable when it has not ended by itself
 */
export const within = <T>(mostMs: number, operation: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new StoreUnavailable(new Error(`No reply after ${mostMs} ms`))), mostMs)
    operation.then(resolve, reject).finally(() => clearTimeout(timer))
  })

/** Calls back when a heartbeat does not end by itself. */
export const whenStuck = (client: MongoClient, callback: () => void): void => {
  const { heartbeatFrequencyMS, connectTimeoutMS } = client.options
  const mostMs = HEARTBEAT_FACTOR * (heartbeatFrequencyMS + connectTimeoutMS)
  const timers = new Map<string, NodeJS.Timeout>()
  const stop = (address: string): void => {
    clearTimeout(timers.get(address))
    timers.delete(address)
  }
  client.on('serverHeartbeatStarted', ({ connectionId: address }) => {
    stop(address)
    timers.set(address, setTimeout(callback, mostMs).unref())
  })
  client.on('serverHeartbeatSucceeded', ({ connectionId: address }) => stop(address))
  client.on('serverHeartbeatFailed', ({ connectionId: address }) => stop(address))
  client.on('serverClosed', ({ address }) => stop(address))
}
