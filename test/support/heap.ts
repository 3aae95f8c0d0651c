// How much memory is in use, in bytes, without what nobody can reach any more.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

export const heapUsed = (): number => {
  collect()
  return process.memoryUsage().heapUsed
}
