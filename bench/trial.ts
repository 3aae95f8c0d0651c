// With --try, each mode does everything once and for an instant, on small data of its own. That shows whether a mode ends
// well; its figures mean nothing.

export const isTrial = process.argv.includes('--try')

/** What a number or a list is, and what it is with --try. */
export const usually = <T>(usual: T, tried: T): T => (isTrial ? tried : usual)

/** The name of a database. A trial has databases of its own, because they are smaller. */
export const databaseName = (name: string | number): string => `${usually('bench', 'bench-try')}-${name}`
