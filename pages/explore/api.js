// Requests to the API of this service. The key is in this variable alone, and is sent in a header alone.

/** The address of the service, without a slash at its end. */
export const base = location.href.replace(/\/explore([?#].*)?$/, '')

/** How long records are parsed before the page may draw and react, in milliseconds. */
const SLICE_MS = 10

let key = ''

/** People paste the scheme or quotes with the key, and a header cannot carry other characters. @param {string} typed */
export const setKey = (typed) => {
  key = typed
    .replace(/[^\x20-\x7e]|["']/g, '')
    .replace(/^\s*((Bearer|Authorization:)\s+)+/i, '')
    .trim()
}

/** A response that is an error. Its message is for people. */
export class Refused extends Error {
  /** @param {number} status @param {string} message @param {boolean} [isBusy] whether it may do better a little later */
  constructor(status, message, isBusy = false) {
    super(message)
    this.status = status
    this.isBusy = isBusy
  }
}

/** @param {Response} response */
const refusal = async (response) => {
  const { status } = response
  const { code, detail } = await response.json().catch(() => ({}))
  const after = response.headers.get('retry-after')
  const wait = after === null ? 'in a moment' : `in ${after} seconds`
  if (status === 401)
    return new Refused(status, 'The service does not know this key. Check it, or ask for another one.')
  if (status === 404) return new Refused(status, 'This is not there any more.')
  if (status === 429) return new Refused(status, `That were too many requests. Try again ${wait}.`)
  if (status === 503 && code !== 'query_timeout')
    return new Refused(status, `The service is busy, or its database is away. Try again ${wait}.`, true)
  return new Refused(status, `The service answered with ${status}${typeof detail === 'string' ? `: ${detail}` : ''}.`)
}

/** The address of an operation. @param {string} path below /v1 @param {URLSearchParams} [parameters] */
export const addressOf = (path, parameters) => `${base}/v1/${path}${parameters?.size ? `?${parameters}` : ''}`

/**
 * @param {string} path
 * @param {URLSearchParams} [parameters]
 * @param {AbortSignal} [signal]
 * @throws {Refused} with words for people
 */
export const request = async (path, parameters, signal) => {
  const headers = { authorization: `Bearer ${key}` }
  const options = /** @type {const} */ ({ headers, credentials: 'omit', cache: 'no-store' })
  const response = await fetch(addressOf(path, parameters), { ...options, signal }).catch(() => {
    throw new Refused(0, 'The service cannot be reached. Try again in a moment.')
  })
  if (!response.ok) throw await refusal(response)
  return response
}

const channel = new MessageChannel()
channel.port1.start()
/** Lets the page draw and react. A timer would wait for a second while the tab is not visible. */
const pause = () =>
  new Promise((resolve) => {
    channel.port1.addEventListener('message', resolve, { once: true })
    channel.port2.postMessage(null)
  })

/**
 * The records of an export, some at a time as they arrive.
 * @param {string} name of the export
 * @param {URLSearchParams} parameters
 * @returns {AsyncGenerator<any[], void>}
 * @throws {Refused} at its beginning, {TypeError} or {SyntaxError} if the connection breaks
 */
export async function* records(name, parameters) {
  const { body } = await request(`exports/${name}.ndjson`, parameters)
  const reader = /** @type {ReadableStream<BufferSource>} */ (body).pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let pausedAt = performance.now()
  for (;;) {
    const { done, value = '' } = await reader.read()
    rest += value
    if (!done && !value.includes('\n')) continue
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    let parsed = []
    for (const line of lines) {
      parsed.push(JSON.parse(line))
      if (performance.now() - pausedAt < SLICE_MS) continue
      yield parsed
      parsed = []
      await pause()
      pausedAt = performance.now()
    }
    yield parsed
    if (!done) continue
    if (rest !== '') throw new TypeError('The last line was cut off')
    return
  }
}
