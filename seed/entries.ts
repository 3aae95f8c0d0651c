// The entries of an organisation, generated one at a time in the order of creation. There may be millions, so memory must
// not grow with their number.
import type { EntryDocument } from '../src/core/documents/collections.js'
import type { Dispatch } from './dispatches.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { type Place, streets } from './places.js'
import { createRandom, integer, pick, type Random } from './random.js'
import type { Question } from './surveys.js'
import { after, DAY, progress, UNTIL } from './timeline.js'

/** The maximum distance of an entry from the centre of its town, in degrees. */
export const JITTER = 0.03

/** A coordinate. Most entries are made near the centre. */
const near = (random: Random, degrees: number, jitter: number) =>
  Math.round((degrees + (random() - random()) * jitter) * 100_000) / 100_000

/** By how many options the answers differ in the zones that are unlike the others. */
const shifts: { readonly [zone: string]: number } = { 'South South': 1, 'North East': 2 }

function answer(
  random: Random,
  { type, question, options, none }: Question,
  shift: number,
): EntryDocument['answers'][number] {
  // Earlier options are more likely.
  const chosen = options[(Math.floor(random() * random() * options.length) + shift) % options.length] as string
  if (type !== 'multiChoice') return { type, question, answer: chosen }
  if (chosen === none) return { type, question, answer: [chosen] }
  const also = (option: string) => option !== none && random() < 0.25
  return { type, question, answer: options.filter((option) => option === chosen || also(option)) }
}

/** What every form asks at its end, and the numbers that are usual. */
const counts = [
  { question: 'How many people are present?', from: 1, to: 12 },
  { question: 'How many minutes did it take to get there?', from: 5, to: 90 },
] as const
const numbers = (random: Random): Answers =>
  counts.map(({ question, from, to }) => ({ type: 'number', question, answer: String(integer(random, from, to)) }))

/** By how much a duration differs from the usual one. */
const factor = (random: Random): number => 0.7 + 0.6 * random()

/** Gives the most common option of a question, and no other beside it. */
const alike: Random = () => 0.3

const statuses = [...Array<string>(18).fill('accepted'), 'pending', 'rejected']
const recent = ['accepted', 'pending', 'pending']
const doubted = ['accepted', 'rejected', 'rejected']
/** For so long, an entry is recent. */
const REVIEW = 45 * DAY

/** How often a dispatch whose form is out of season is passed over. */
const PASSES = 4

/**
 * Returns a function that finds a dispatch that is open at a time, and in season if it can. The times must increase
 * from call to call.
 */
function openDispatches(random: Random, dispatches: readonly Dispatch[]): (date: Date) => Dispatch {
  const upcoming = dispatches.filter(({ answered }) => answered).reverse()
  const open: Dispatch[] = []
  return (date) => {
    const time = date.getTime()
    const month = 1 + date.getUTCMonth()
    for (let next = upcoming.at(-1); next !== undefined && next.opens <= time; next = upcoming.at(-1)) {
      open.push(next)
      upcoming.pop()
    }
    let dispatch = pick(random, open)
    for (let passes = 0; open.length > 1; dispatch = pick(random, open)) {
      if (dispatch.closes < time) open.splice(open.indexOf(dispatch), 1)
      else if (passes++ === PASSES || dispatch.survey.season?.includes(month) !== false) break
    }
    return dispatch
  }
}

type Answers = EntryDocument['answers']
type Complete = Required<EntryDocument> & { location: { coordinates: object } }

const placed = (entry: Complete, longitude: number, lattitude: number): EntryDocument => ({
  ...entry,
  location: { ...entry.location, coordinates: { longitude, lattitude } },
})

/** What is odd about a few entries, by the remainder of a number divided by ODD. It falls to the next usual entry. */
const oddities: { readonly [remainder: number]: (entry: Complete, before: Answers) => EntryDocument } = {
  // The answers of the entry before are copied.
  30: (entry, before) => ({ ...entry, answers: before }),
  60: ({ location, ...entry }) => entry,
  // The last number has two digits too many.
  90: ({ answers, ...entry }) => ({
    ...entry,
    answers: answers.map((each, n) => (n === answers.length - 1 ? { ...each, answer: `${each.answer}00` } : each)),
  }),
  120: ({ location: { coordinates, ...location }, ...entry }) => ({ ...entry, location }),
  180: ({ agent, ...entry }) => entry,
  240: ({ duration, ...entry }) => entry,
  // The interview was broken off.
  300: (entry) => ({ ...entry, answers: entry.answers.slice(0, 2) }),
  // The form was left open over night.
  360: (entry) => ({ ...entry, duration: entry.duration + 14 * 3600 }),
  420: (entry) => placed(entry, 0, 0),
  // Longitude and latitude are exchanged.
  480: (entry) => placed(entry, entry.location.coordinates.lattitude, entry.location.coordinates.longitude),
}
const ODD = 500
/** The states that have many entries, and how many entries a form has before one of them is usual. */
const [OFTEN, MANY] = [['Kano', 'Lagos'], 20]

/** The entries of an organisation, from the first to the last. It must have at least one dispatch. */
export function* makeEntries(
  { number, random, document }: Tenant,
  count: number,
  dispatches: readonly Dispatch[],
): Generator<EntryDocument> {
  const openAt = openDispatches(random, dispatches)
  const timeOf = progress()
  // The first organisation has a bulk import: entries with the same timestamps, to show that paging still works.
  const imports = number > 0 ? 0 : Math.min(500, Math.floor(count / 10))
  const others = count - imports
  const firstImport = Math.floor(others / 2)

  /** The answers of the entry before, and how many there were, by the form. */
  const before = new Map<string, { answers: Answers; count?: number }>()
  const due: (typeof oddities)[number][] = []

  for (let n = 0; n < count; n++) {
    const imported = n >= firstImport && n < firstImport + imports
    const createdAt = timeOf((imported ? firstImport : (n < firstImport ? n : n - imports) + random()) / others)
    const dispatch = openAt(createdAt)
    const agent = pick(random, dispatch.agents)
    const drawn = pick(random, agent.places)
    const place = agent.invents ? (agent.places[0] as Place) : drawn
    const shift = shifts[place.zone] ?? 0
    // Who invents answers sits in one place.
    const [chance, jitter] = agent.invents ? [alike, 0] : [random, JITTER]
    const more = createRandom(createdAt.getTime() + n)
    const reviewed = createdAt.getTime() < UNTIL - REVIEW
    const entry: Complete = {
      _id: createId(createdAt, number, 'entries', n),
      organisation: document._id,
      status: pick(random, agent.invents ? doubted : reviewed ? statuses : recent),
      dispatch: dispatch.document._id,
      form: dispatch.document.form as string,
      project: dispatch.document.project as string,
      agent: agent.document._id,
      location: {
        address: `${integer(random, 1, 180)} ${pick(random, streets)}`,
        country: 'Nigeria',
        state: place.state,
        lga: place.lga,
        city: place.city,
        coordinates: {
          longitude: near(random, place.longitude, jitter),
          lattitude: near(random, place.latitude, jitter),
        },
      },
      answers: [...dispatch.survey.questions.map((question) => answer(chance, question, shift)), ...numbers(more)],
      duration: agent.invents ? integer(random, 20, 50) : Math.round(700 * factor(random) * factor(random)),
      createdAt,
      updatedAt: imported || random() < 0.7 ? createdAt : after(random, createdAt, 5),
    }
    const oddity = oddities[n % ODD]
    if (oddity !== undefined) due.push(oddity)
    const { answers, count = 0 } = before.get(entry.form) ?? { answers: entry.answers }
    const isUsual = count > MANY && OFTEN.includes(place.state) && !agent.invents
    yield (isUsual ? due.shift() : undefined)?.(entry, answers) ?? entry
    before.set(entry.form, { answers: entry.answers, count: count + 1 })
  }
}
