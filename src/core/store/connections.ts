// Counts the connections of the driver by its events.
import type { ConnectionPoolEvents, MongoClient } from 'mongodb'

export class Connections {
  open = 0
  used = 0
  /** Operations that wait for a connection. */
  pending = 0

  #client: MongoClient | undefined

  /** Counts those of a client that was just made. Those of the client before it, some of which never end, count no more. */
  watch(client: MongoClient): void {
    this.#client = client
    Object.assign(this, { open: 0, used: 0, pending: 0 })
    const on = (event: keyof ConnectionPoolEvents, count: () => void) =>
      client.on(event, () => this.#client === client && count())
    on('connectionCreated', () => this.open++)
    on('connectionClosed', () => this.open--)
    on('connectionCheckOutStarted', () => this.pending++)
    on('connectionCheckOutFailed', () => this.pending--)
    on('connectionCheckedOut', () => {
      this.pending--
      this.used++
    })
    on('connectionCheckedIn', () => this.used--)
  }
}
