// What each peer is told by the benchmark, as environment variables.

const variable = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is missing: the benchmark sets it`)
  return value
}

export const port = Number(process.env.PORT)
export const mongodbUri = () => variable('MONGODB_URI')
/** The one organisation whose data is served: no peer asks for a key. */
export const organisation = () => variable('ORGANISATION')
/** The service itself, and an API key for it. */
export const service = () => ({ url: variable('SERVICE_URL'), key: variable('SERVICE_KEY') })
