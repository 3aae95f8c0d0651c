// The admins of an organisation, who create its projects and dispatches. Entries are submitted by agents.
import type { UserDocument } from '../src/core/documents/collections.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { makePerson } from './people.js'
import { after, DAY, moment, UNTIL } from './timeline.js'

const roles = ['Administrator', 'Supervisor', 'Data manager']
const COUNT = 2 * roles.length

/** The users of an organisation, two for each role. */
export const makeUsers = ({ number, random, document }: Tenant): UserDocument[] =>
  Array.from({ length: COUNT }, (_, n) => {
    const createdAt = moment(random, 190, 10, n, COUNT)
    return {
      _id: createId(createdAt, number, 'users', n),
      organisation: document._id,
      role: { name: roles[n % roles.length] as string },
      status: 'active',
      ...makePerson(random, `u${n}`),
      createdAt,
      updatedAt: after(random, createdAt, 100),
      lastLogin: after(random, new Date(UNTIL - 30 * DAY), 30),
    }
  })
