// The agents of an organisation, who receive its dispatches and submit entries. Their telephone numbers must reach nobody.
import type { AgentDocument } from '../src/core/documents/collections.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { makePerson } from './people.js'
import { type Place, places } from './places.js'
import { pick } from './random.js'
import { after, DAY, moment, UNTIL } from './timeline.js'

/** An agent and the places where its entries are made. The document itself has no local government areas. */
export interface Agent {
  document: AgentDocument
  places: readonly Place[]
  /** Whether the agent invents the answers. */
  invents: boolean
}

/** Most agents live around the two largest cities. */
const homes = places.flatMap((place) => Array<Place>(['Kano', 'Lagos'].includes(place.state) ? 5 : 1).fill(place))

/** The agents of an organisation, from 36 to 300 depending on its number of dispatches. */
export function makeAgents({ number, random, document }: Tenant, dispatches: number): Agent[] {
  const count = Math.min(300, 36 + Math.floor(dispatches / 4))
  return Array.from({ length: count }, (_, n) => {
    const createdAt = moment(random, 180, 60, n, count)
    const home = pick(random, homes)
    const near = places.filter(({ state, lga }) => state === home.state && lga !== home.lga)
    const works = random() < 0.4 ? [home, pick(random, near)] : [home]
    return {
      document: {
        _id: createId(createdAt, number, 'agents', n),
        organisation: document._id,
        status: 'active',
        ...makePerson(random, `a${n}`),
        // 0800 is Nigeria's prefix for toll-free numbers, so the number belongs to no person.
        phone: `+234800${String(number * 1000 + n).padStart(7, '0')}`,
        location: works.map(({ zone, state, city }) => ({ country: 'Nigeria', zone, state, city })),
        createdAt,
        updatedAt: after(random, createdAt, 100),
        lastLogin: after(random, new Date(UNTIL - 30 * DAY), 30),
      },
      places: works,
      invents: n === 1,
    }
  })
}
