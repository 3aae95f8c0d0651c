// Reads a point in time as RFC 3339 writes it.

const INSTANT = /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * The point in time that a text names, or undefined if it names none. Digits beyond milliseconds are cut off, as the database
 * cuts them off in what it stores: so a record that was changed at exactly this time is not before it.
 */
export const instantOf = (text: string): Date | undefined => {
  const [, day, time, fraction = '', zone] = INSTANT.exec(text) ?? []
  if (day === undefined || zone === undefined) return undefined
  // Date would read the 30th of February as the 1st of March.
  const midnight = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined
  return new Date(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${zone.toUpperCase()}`)
}
