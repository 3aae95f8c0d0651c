// The ids of all demo documents. An id consists of second, organisation, kind and counter. So it is unique in all
// organisations, and the ids of one collection in one organisation sort by the time of creation.

// Agent groups have ids but no collection, because the contract has no such records.
const kinds = ['organisations', 'users', 'agents', 'forms', 'projects', 'dispatches', 'entries', 'agentGroups'] as const
type Kind = (typeof kinds)[number]

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')

/**
 * Returns 24 hexadecimal digits. Create the documents of a kind in the order of `createdAt`, and count them from 0.
 */
export const createId = (createdAt: Date, organisation: number, kind: Kind, count: number): string =>
  hex(Math.floor(createdAt.getTime() / 1000), 8) + hex(organisation, 4) + hex(kinds.indexOf(kind), 2) + hex(count, 10)
