// The forms of an organisation, one for each survey. The questions are kept beside the document, which has none.
import type { FormDocument } from '../src/core/documents/collections.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { type Survey, surveys } from './surveys.js'
import { after, moment } from './timeline.js'

export interface Form {
  document: FormDocument
  survey: Survey
}

/** The forms of an organisation, in an order that differs between organisations. The last form is never dispatched. */
export function makeForms({ number, random, document }: Tenant, dispatches: number): Form[] {
  const ranked = surveys.map((survey) => ({ survey, rank: random() })).sort((a, b) => a.rank - b.rank)
  return ranked.map(({ survey }, n) => {
    const createdAt = moment(random, 110, 30, n, ranked.length)
    return {
      document: {
        _id: createId(createdAt, number, 'forms', n),
        organisation: document._id,
        dispatched: n < Math.min(dispatches, ranked.length - 1),
        status: 'active',
        name: survey.name,
        sector: survey.sector,
        reason: survey.reason,
        createdAt,
        updatedAt: after(random, createdAt, 60),
      },
      survey,
    }
  })
}
