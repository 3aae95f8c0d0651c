// The organisations of the demo data. Each is a tenant with its own documents and its own random numbers. It must not
// depend on another organisation, so that its data stays the same when the others change.
import type { OrganisationDocument } from '../src/core/documents/collections.js'
import { createId } from './ids.js'
import { createRandom, type Random } from './random.js'
import { after, moment } from './timeline.js'

/** An organisation while its documents are generated. */
export interface Tenant {
  /** Counted from 0. */
  number: number
  random: Random
  document: OrganisationDocument
}

const landscapes = ['Savannah', 'Mangrove', 'Harmattan', 'Baobab', 'Iroko', 'Inselberg', 'Confluence', 'Oil Palm']
const callings = ['Field Research', 'Community Survey', 'Health Watch', 'Rural Data']

/** The organisation with a number. */
export function makeTenant(seed: number, number: number): Tenant {
  const random = createRandom(seed + Math.imul(number, 0x9e3779b1))
  const createdAt = moment(random, 200, 1, 0, 1)
  const name = `${landscapes[number % landscapes.length]} ${callings[number % callings.length]}`
  const _id = createId(createdAt, number, 'organisations', number)
  return { number, random, document: { _id, name, createdAt, updatedAt: after(random, createdAt, 100) } }
}
