// The environment variables that the benchmark sets for each peer.

const variable = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: start this file with npm run bench`)
  return value
}

export const port = Number(process.env.PORT)
export const mongodbUri = () => variable('MONGODB_URI')
/** The organisation whose data is served. The peers need no API key. */
export const organisation = () => variable('ORGANISATION')
/** The URL of the service, and an API key for it. */
export const service = () => ({ url: variable('SERVICE_URL'), key: variable('SERVICE_KEY') })
