// The agents of an organisation, who receive its dispatches and submit entries. Their telephone numbers may reach nobody.
import type { AgentDocument } from '../src/documents/collections.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { makePerson } from './people.js'
import { type Place, places } from './places.js'
import { pick } from './random.js'
import { after, DAY, moment, UNTIL } from './timeline.js'

/** An agent with the places where entries are made: the document names no local government area. */
export interface Agent {
  document: AgentDocument
  places: readonly Place[]
}

/** The agents of an organisation with so many dispatches: 36 and more, 300 at the most. */
export function makeAgents({ number, random, document }: Tenant, dispatches: number): Agent[] {
  const count = Math.min(300, 36 + Math.floor(dispatches / 4))
  return Array.from({ length: count }, (_, n) => {
    const createdAt = moment(random, 180, 60, n, count)
    const home = pick(random, places)
    const near = places.filter(({ state, lga }) => state === home.state && lga !== home.lga)
    const works = random() < 0.4 ? [home, pick(random, near)] : [home]
    return {
      document: {
        _id: createId(createdAt, number, 'agents', n),
        organisation: document._id,
        status: 'active',
        ...makePerson(random, `a${n}`),
        // 0800 is Nigeria's prefix of free service lines: no person has such a number.
        phone: `+234800${String(number * 1000 + n).padStart(7, '0')}`,
        location: works.map(({ zone, state, city }) => ({ country: 'Nigeria', zone, state, city })),
        createdAt,
        updatedAt: after(random, createdAt, 100),
        lastLogin: after(random, new Date(UNTIL - 30 * DAY), 30),
      },
      places: works,
    }
  })
}
