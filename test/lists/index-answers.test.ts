// `answers=list`: each answer as an array of strings, in the list of entries, in an entry by id and in the feed.
import t from 'tap'
import { testApp } from '../support/app.js'
import { A, a } from '../support/tenants.js'

const question = (answer?: unknown) => ({ type: 'x', question: 'What?', ...(answer !== undefined && { answer }) })
const stored = ['Borehole', ['Drinking', 'Washing'], [], '', null, undefined]
const asLists = [['Borehole'], ['Drinking', 'Washing'], [], [''], undefined, undefined]

interface Entry {
  id: string
  answers: { answer?: unknown }[]
}
const answersOf = ({ answers }: Entry) => answers.map(({ answer }) => answer)

t.test('each answer is an array of strings wherever entries are shown, and by default as it is stored', async (t) => {
  const { get, store } = await testApp(t, { settings: { SYNC_SETTLE_MS: '0' } })
  await store.insert('agents', [a.agent(1)])
  await store.insert('entries', [a.entry(1, { answers: stored.map(question) as never })])
  const until = (await store.now()).now
  while ((await store.now()).now <= until);
  for (const path of [
    '/v1/entries?',
    '/v1/entries?cursor=*&',
    '/v1/entries?fields=answers&',
    '/v1/entries?expand=agent&',
    '/v1/entries?embed=false&',
    '/v1/entries?unreadable=skip&',
    '/v1/entries/entry1-a?',
    '/v1/sync/entries?',
    '/v1/sync/entries?unreadable=skip&',
  ]) {
    const answers = async (parameter: string) => {
      const response = await get(path + parameter, A)
      t.equal(response.statusCode, 200, path)
      return answersOf([response.json().data].flat()[0])
    }
    t.strictSame(
      await answers(''),
      stored.map((answer) => answer ?? undefined),
      path,
    )
    t.strictSame(await answers('answers=list'), asLists, path)
  }
})

t.test('a number is shown as its text, and what is neither text nor number does not fit', async (t) => {
  const { get, store } = await testApp(t)
  const entry = (number: number, ...answers: unknown[]) => a.entry(number, { answers: answers.map(question) as never })
  await store.insert('entries', [entry(1, 120, 1.5, ['a', 7]), entry(2, true), entry(3, ['a', null])])
  t.equal((await get('/v1/entries/entry1-a', A)).statusCode, 500, 'the contract has no number')
  const { data, _metadata } = (await get('/v1/entries?answers=list&unreadable=skip', A)).json()
  t.strictSame(answersOf(data[0]), [['120'], ['1.5'], ['a', '7']])
  t.strictSame(_metadata.unreadable, [
    { id: 'entry2-a', message: 'answers.0.answer is BSON boolean, not a string, a number or an array' },
    { id: 'entry3-a', message: 'answers.0.answer.1 is BSON null, not a string or a number' },
  ])
})

t.test('an entry has another tag with its answers as lists', async (t) => {
  const { get, store } = await testApp(t)
  await store.insert('entries', [a.entry(1)])
  for (const path of ['/v1/entries', '/v1/entries/entry1-a']) {
    const { headers } = await get(path, A)
    const known = { headers: { 'if-none-match': `${headers.etag}` } }
    t.equal((await get(path, A, known)).statusCode, 304)
    t.equal((await get(`${path}?answers=list`, A, known)).statusCode, 200)
  }
})
