// Takes the key, from the form or from the address, and shows what it does not see.
import { Refused, setKey } from './api.js'
import { byId, inputById, say, setText } from './dom.js'
import { readKey } from './loader.js'

/** @param {(without: readonly string[]) => void} onKey is told what the key does not see */
export const keyForm = (onKey) => {
  /** @param {string} key */
  const begin = async (key) => {
    setKey(key)
    performance.mark('explore:key')
    const submit = /** @type {HTMLButtonElement} */ (byId('key-form').querySelector('button'))
    submit.disabled = true
    say('Asking the service…')
    try {
      const { name, without, only } = await readKey()
      // What a key does not see is no part of the page: the map and the states are of places.
      const seesPlaces = !without.includes('places')
      for (const id of ['map', 'state', 'lga']) byId(id).hidden = !seesPlaces
      const seen = only.length > 0 && `This key sees some ${only.map((kind) => `${kind}s`).join(' and ')} alone.`
      const unseen = `This key does not see ${without.join(' or ').replace('personal', 'personal data')}.`
      const said = [seen, without.length > 0 && unseen].filter(Boolean)
      setText(byId('hidden'), said.join(' '))
      byId('hidden').hidden = said.length === 0
      byId('title').textContent = name
      document.title = `Explore entries: ${name}`
      byId('key-form').hidden = true
      byId('explorer').hidden = false
      byId('count').focus()
      say('')
      onKey(without)
    } catch (error) {
      say(/** @type {Error} */ (error).message)
      if (!(error instanceof Refused)) throw error
      // A key that was not refused itself can be tried again.
      if (error.status !== 401) inputById('key').value = key
      byId('key-form').hidden = false
      inputById('key').focus()
    } finally {
      submit.disabled = false
    }
  }

  /** The key of an address is removed from it at once. */
  const beginWithAddress = () => {
    const parameters = new URLSearchParams(location.hash.slice(1))
    const key = parameters.get('key')
    if (key === null) return false
    parameters.delete('key')
    history.replaceState(
      null,
      '',
      `${location.pathname}${location.search}${parameters.size > 0 ? `#${parameters}` : ''}`,
    )
    begin(key)
    return true
  }

  byId('key-form').addEventListener('submit', (event) => {
    event.preventDefault()
    const input = inputById('key')
    const key = input.value
    input.value = ''
    begin(key)
  })
  addEventListener('hashchange', beginWithAddress)
  if (beginWithAddress()) return
  say('')
  byId('key-form').hidden = false
  inputById('key').focus()
}
