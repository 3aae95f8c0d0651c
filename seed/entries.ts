// The entries of an organisation, generated one at a time in the order of creation. There may be millions, so memory must
// not grow with their number.
import type { EntryDocument } from '../src/documents/collections.js'
import type { Dispatch } from './dispatches.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { streets } from './places.js'
import { integer, pick, type Random } from './random.js'
import type { Question } from './surveys.js'
import { after, DAY, FROM, HOUR, UNTIL } from './timeline.js'

/** The maximum distance of an entry from the centre of its town, in degrees. */
export const JITTER = 0.03

const near = (random: Random, degrees: number) =>
  Math.round((degrees + (random() * 2 - 1) * JITTER) * 100_000) / 100_000

function answer(random: Random, { type, question, options, none }: Question): EntryDocument['answers'][number] {
  // Earlier options are more likely.
  const chosen = options[Math.floor(random() * random() * options.length)] as string
  if (type !== 'multiChoice') return { type, question, answer: chosen }
  if (chosen === none) return { type, question, answer: [chosen] }
  const also = (option: string) => option !== none && random() < 0.25
  return { type, question, answer: options.filter((option) => option === chosen || also(option)) }
}

const statuses = [...Array<string>(17).fill('accepted'), 'pending', 'pending', 'rejected']

/** The time at which a part (0 to 1) of all entries has been made. Entries are made from 7 to 18 hours in Nigeria. */
function progress(part: number): Date {
  const days = part * ((UNTIL - FROM) / DAY)
  const day = Math.floor(days)
  return new Date(FROM + day * DAY + Math.floor(6 * HOUR + (days - day) * 11 * HOUR))
}

/** Returns a function that finds a dispatch that is open at a time. The times must increase from call to call. */
function openDispatches(random: Random, dispatches: readonly Dispatch[]): (time: number) => Dispatch {
  const upcoming = dispatches.filter(({ answered }) => answered).reverse()
  const open: Dispatch[] = []
  return (time) => {
    for (let next = upcoming.at(-1); next !== undefined && next.opens <= time; next = upcoming.at(-1)) {
      open.push(next)
      upcoming.pop()
    }
    let dispatch = pick(random, open)
    while (dispatch.closes < time && open.length > 1) {
      open.splice(open.indexOf(dispatch), 1)
      dispatch = pick(random, open)
    }
    return dispatch
  }
}

/** The entries of an organisation, from the first to the last. It must have at least one dispatch. */
export function* makeEntries(
  { number, random, document }: Tenant,
  count: number,
  dispatches: readonly Dispatch[],
): Generator<EntryDocument> {
  const openAt = openDispatches(random, dispatches)
  // The first organisation has a bulk import: entries with the same timestamps, to show that paging still works.
  const imports = number > 0 ? 0 : count < 1000 ? Math.floor(count / 10) : 500
  const firstImport = Math.floor((count - imports) / 2)

  for (let n = 0; n < count; n++) {
    const imported = n >= firstImport && n < firstImport + imports
    const createdAt = progress((imported ? firstImport + 0.5 : n + random()) / count)
    const dispatch = openAt(createdAt.getTime())
    const agent = pick(random, dispatch.agents)
    const place = pick(random, agent.places)
    yield {
      _id: createId(createdAt, number, 'entries', n),
      organisation: document._id,
      status: pick(random, statuses),
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
        coordinates: { longitude: near(random, place.longitude), lattitude: near(random, place.latitude) },
      },
      answers: dispatch.survey.questions.map((question) => answer(random, question)),
      duration: integer(random, 180, 900) + integer(random, 0, 900),
      createdAt,
      updatedAt: imported || random() < 0.7 ? createdAt : after(random, createdAt, 5),
    }
  }
}
