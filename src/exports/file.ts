// Makes the bytes of a file of a whole list, page by page.
import type { Reading, Store } from '../store/store.js'
import type { Encoder } from './encoder.js'
import type { Pages } from './pages.js'

/** Waits for a turn, and works on a part of the file in it. Between two turns an export holds no place. */
export type Turn = (work: (reading: Reading) => Promise<Buffer>) => Promise<Buffer>

/** The parts of a file. Each is made when it is asked for. */
export async function* fileOf(
  store: Pick<Store, 'aggregate'>,
  pages: Pages,
  encoder: Encoder,
  turn: Turn,
): AsyncGenerator<Buffer, void> {
  let isOver = false
  try {
    while (!isOver) {
      const part = await turn(async (reading) => {
        const list = await pages.next((query) => store.aggregate(query, reading))
        isOver = list === undefined
        return list === undefined ? encoder.end() : encoder.write(list, reading.signal)
      })
      if (part.length > 0) yield part
    }
  } finally {
    encoder.close()
  }
}
