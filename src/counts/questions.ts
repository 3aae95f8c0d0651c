// The questions of a form, as the entries of the form answer them.

import type { Asked, ValueAnswer } from '../core/door/answer.js'
import { forms } from '../core/pipelines/forms.js'
import { isInScope } from '../core/pipelines/stages.js'
import { formQuestions } from '../core/read/form-questions.js'
import { projectionOf } from '../core/read/projection.js'
import { type Reader, unknown } from '../core/read/reader.js'

export const QUESTIONS =
  'The questions that the entries of the form have, with their answers and how often these were given. It is what was observed: no form definitions are stored, so a choice that nobody took is not there.'

/** @throws the problems `not_found`, and `invalid_parameter` if the questions are too many */
export const getFormQuestions = async (reader: Reader, { params }: Pick<Asked, 'params'>) => {
  const id = params.id as string
  const isVisible = isInScope('forms', reader.scope)
  if (isVisible) await reader.record(forms, id, projectionOf(forms, reader.scope.without, {}, 'record'))
  const { questions, entries, asOf, bytes, hash } = await formQuestions(reader, id)
  if (!isVisible && entries === 0) throw unknown(forms)
  return {
    value: { success: true, data: questions, _metadata: { entries, asOf: asOf.toISOString() } },
    tag: { besides: [hash, entries] },
    size: bytes,
  } satisfies ValueAnswer
}
