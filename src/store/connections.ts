// Counts the connections of the driver by its events.
import type { MongoClient } from 'mongodb'

export class Connections {
  open = 0
  used = 0
  /** Operations that wait for a connection. */
  pending = 0

  /** @param max how many there may be to each server */
  constructor(readonly max: number) {}

  /** Counts those of a client from now on, besides those of others. */
  watch(client: MongoClient): void {
    client.on('connectionCreated', () => this.open++)
    client.on('connectionClosed', () => this.open--)
    client.on('connectionCheckOutStarted', () => this.pending++)
    client.on('connectionCheckOutFailed', () => this.pending--)
    client.on('connectionCheckedOut', () => {
      this.pending--
      this.used++
    })
    client.on('connectionCheckedIn', () => this.used--)
  }
}
