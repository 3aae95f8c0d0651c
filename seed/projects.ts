// The projects of an organisation. They hold no list of their dispatches: a dispatch names its project.
import type { ProjectDocument, UserDocument } from '../src/documents/collections.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { pick } from './random.js'
import { after, moment } from './timeline.js'

// None names a subject: the dispatches of a project send forms of every sector.
const themes = [
  'Rural households panel',
  'Coastal states programme',
  'Sahel border study',
  'Community resilience',
  'Small towns study',
  'Public services watch',
  'Living standards panel',
  'River basin programme',
  'Growing cities study',
  'Village development plan',
  'Women and youth programme',
  'State indicators',
]

/** The projects of an organisation with so many dispatches: 6 and more, 24 at the most. */
export function makeProjects(
  { number, random, document }: Tenant,
  users: readonly UserDocument[],
  dispatches: number,
): ProjectDocument[] {
  const count = Math.min(2 * themes.length, 6 + Math.floor(dispatches / 10))
  return Array.from({ length: count }, (_, n) => {
    const createdAt = moment(random, 70, 30, n, count)
    return {
      _id: createId(createdAt, number, 'projects', n),
      organisation: document._id,
      name: `${themes[n % themes.length]} ${2024 + Math.floor(n / themes.length)}`,
      createdBy: pick(random, users)._id,
      modifiedBy: pick(random, users)._id,
      createdAt,
      updatedAt: after(random, createdAt, 400),
    }
  })
}
