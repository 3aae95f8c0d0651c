// The ids of all demo documents. An id tells second, organisation, kind and counter, so no two documents share one,
// not even over organisations, and the ids of a collection of an organisation sort as they were created.

// Agent groups have ids and no collection: the contract shows no record of them.
const kinds = ['organisations', 'users', 'agents', 'forms', 'projects', 'dispatches', 'entries', 'agentGroups'] as const
type Kind = (typeof kinds)[number]

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')

/**
 * Returns 24 hexadecimal digits. Who makes documents of a kind has to create them in the order of `createdAt` and count
 * them from 0.
 */
export const createId = (createdAt: Date, organisation: number, kind: Kind, count: number): string =>
  hex(Math.floor(createdAt.getTime() / 1000), 8) + hex(organisation, 4) + hex(kinds.indexOf(kind), 2) + hex(count, 10)
