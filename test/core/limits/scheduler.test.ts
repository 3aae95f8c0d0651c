// Which task begins next, how many run at once, and what ends a wait. The clock moves only when a test sets it.
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import {
  FairScheduler,
  LARGE,
  Overloaded,
  type SchedulerOptions,
  type Size,
  SMALL,
  TICK_MS,
  type Ticket,
} from '../../../src/core/limits/scheduler.js'
import { runs } from '../../support/thorough.js'

const MANY = { all: 1000, perKey: 1000 }
const MB = 1024 * 1024
const { signal: NEVER } = new AbortController()

/** Waits until all tasks have begun that may begin. */
const settled = async () => {
  for (let turn = 0; turn < 3; turn++) await setImmediate()
}

/** A scheduler whose tasks have names. The first letter of a name is the key. */
const schedulerOf = (options: Partial<SchedulerOptions> = {}) => {
  let time = 0
  const waited: [number, Size][] = []
  const scheduler = new FairScheduler({
    small: MANY,
    large: MANY,
    memory: { all: 1000 * MB, partOfLeft: 1 },
    waitMs: 5000,
    now: () => time,
    onWaited: (ms, size) => waited.push([ms, size]),
    ...options,
  })
  /** The names of the tasks that have begun, in their order, and their tickets. */
  const begun: string[] = []
  const tickets = new Map<string, Ticket>()
  const enter = async (name: string, cost = SMALL, signal = NEVER): Promise<Ticket> => {
    const ticket = await scheduler.start(name[0] as string, cost, signal)
    begun.push(name)
    tickets.set(name, ticket)
    return ticket
  }
  /** Enters tasks, some of which may wait. Their errors are not of interest. */
  const enterAll = async (names: string, cost = SMALL) => {
    for (const name of names.split(' ')) enter(name, cost).catch(() => {})
    await settled()
  }
  const release = async (...names: string[]) => {
    for (const name of names) {
      tickets.get(name)?.stop()
      await settled()
    }
  }
  /** Moves the clock, and tells the scheduler at its usual interval or later. */
  const pass = async (ms: number, interval = TICK_MS) => {
    for (const end = time + ms; time < end; ) {
      time = Math.min(end, time + interval)
      scheduler.tick()
    }
    await setImmediate()
  }
  return { scheduler, begun, tickets, enter, enterAll, release, pass, waited }
}

for (const [size, cost] of [
  ['small', SMALL],
  ['large', LARGE],
] as const) {
  t.test(`as many ${size} tasks run at once as there are places, in all and of a key`, async (t) => {
    const { scheduler, begun, enterAll, release } = schedulerOf({ [size]: { all: 3, perKey: 2 } })
    await enterAll('a1 a2 a3 b1 b2', cost)
    t.same(begun, ['a1', 'a2', 'b1'], 'the key a does not block others')
    t.same([scheduler.all.running[size], scheduler.all.waiting[size]], [3, 2])
    await release('a1')
    await release('a1')
    t.equal(begun.length, 4, 'a task ends only once')
    await release('a2')
    t.same(begun.slice(3).sort(), ['a3', 'b2'])
    t.same([scheduler.all.running[size], scheduler.all.waiting[size]], [3, 0])
    const other = size === 'small' ? 'large' : 'small'
    await enterAll('a4', other === 'small' ? SMALL : LARGE)
    t.equal(begun.at(-1), 'a4', `the places of ${other} tasks are others`)
  })
}

t.test('keys take turns by what they have paid, however many of their tasks wait', async (t) => {
  const { begun, tickets, enterAll, release } = schedulerOf({ small: { all: 1, perKey: 1 } })
  await enterAll('a1 a2 a3 a4 b1 b2 c1')
  await tickets.get('a1')?.charge(2 * SMALL)
  await release('a1', 'b1', 'c1', 'b2', 'a2', 'a3')
  t.same(begun, ['a1', 'b1', 'c1', 'b2', 'a2', 'a3', 'a4'])
})

t.test('a key that comes late is neither ahead by what it has not used, nor behind', async (t) => {
  const { begun, enterAll, release } = schedulerOf({ small: { all: 1, perKey: 1 } })
  await enterAll('a1 a2 a3 a4 a5 a6')
  await release('a1', 'a2')
  await enterAll('b1 b2 b3 b4')
  t.same(begun.splice(0), ['a1', 'a2', 'a3'])
  await release('a3', 'b1', 'a4')
  t.same(begun, ['b1', 'a4', 'b2'])
})

t.test('when nothing runs, nobody owes anything', async (t) => {
  const { begun, tickets, enterAll, release } = schedulerOf({ small: { all: 1, perKey: 1 } })
  await enterAll('a1')
  await tickets.get('a1')?.charge(20 * SMALL)
  await release('a1')
  await enterAll('b1 a2 b2 b3')
  await release('b1')
  t.same(begun, ['a1', 'b1', 'a2'])
})

t.test('a small task that reads more than a large one goes on among the large ones', async (t) => {
  const { scheduler, enter, pass } = schedulerOf({ large: { all: 1, perKey: 1 } })
  const large = await enter('a1', LARGE)
  const grown = await enter('a2')
  await grown.charge(LARGE)
  t.equal(grown.size, 'small', 'it may read as much')
  const reads: string[] = []
  const more = Promise.all(['first', 'second'].map((name) => grown.charge(1).then(() => reads.push(name))))
  await setImmediate()
  t.same([grown.size, scheduler.all.running.small], ['large', 0], 'it leaves its place to others')
  t.same(reads, [], 'all that is read for it at the same time waits for its turn')
  large.stop()
  await more
  t.same(reads, ['first', 'second'])
  await grown.charge(LARGE)
  grown.stop()

  const next = await enter('b1', LARGE)
  const late = await enter('b2')
  const failed = t.rejects(late.charge(2 * LARGE), new Overloaded())
  await pass(5000)
  await failed
  late.stop()
  next.stop()
  t.same(scheduler.all.running, { small: 0, large: 0 })
})

t.test('before each large task other work has its turn', async (t) => {
  const { enter } = schedulerOf()
  const order: string[] = []
  const other = setImmediate().then(() => order.push('other'))
  await enter('a1')
  order.push('small')
  await enter('a2', LARGE)
  order.push('large')
  await other
  t.same(order, ['small', 'other', 'large'])
})

t.test('while too much memory is held nothing begins, except what holds it itself', async (t) => {
  const memory = { all: 4 * MB, partOfLeft: 1 / 3 }
  const { scheduler, begun, tickets, enter, enterAll } = schedulerOf({ memory, large: { all: 1, perKey: 1 } })
  const holder = await enter('a1')
  holder.hold(MB)
  t.same([scheduler.refuses('a'), scheduler.refuses('b')], [true, false])
  await enterAll('a2 b2')
  t.same(begun.splice(0), ['a1', 'b2'])
  holder.hold(MB - 1)
  await setImmediate()
  t.same([begun.splice(0), scheduler.refuses('a')], [['a2'], false])

  await enterAll('d1 e1 f1')
  for (const name of ['d1', 'e1', 'f1']) tickets.get(name)?.hold(MB)
  await holder.charge(LARGE + 1)
  t.equal(holder.size, 'large', 'a task that becomes large does not wait for its own memory')
  t.ok(scheduler.refuses('never seen'))
  const waiting = enter('h1')
  holder.stop()
  t.notOk(begun.includes('h1'), 'what was read is held on')
  holder.hold(0)
  await waiting
  t.equal(scheduler.all.held, 3 * MB)
})

t.test('however many keys hold all that they may, one that holds nothing has room', async (t) => {
  const memory = { all: 256 * MB, partOfLeft: 1 / 3 }
  const { scheduler, enter } = schedulerOf({ memory })
  const heldBy: number[] = []
  for (const key of 'abcdefgh') {
    const ticket = await enter(`${key}1`)
    while (!scheduler.refuses(key)) ticket.hold(ticket.held + MB)
    heldBy.push(ticket.held / MB)
  }
  t.equal(heldBy[0], 64, 'a key alone holds a quarter')
  t.same(
    heldBy,
    heldBy.toSorted((one, other) => other - one),
    'and the later ones less',
  )
  t.equal(scheduler.refuses('never seen'), false)
})

t.test('tasks that have begun together do not hold more than their key may', async (t) => {
  const memory = { all: 100 * MB, partOfLeft: 1 / 24 }
  const { scheduler, enter } = schedulerOf({ memory, large: { all: 2, perKey: 1 } })
  const together = await Promise.all(Array.from({ length: 10 }, (_, n) => enter(`a${n}`)))
  const charged = together.map((ticket) =>
    ticket
      .charge(MB)
      .catch((error) => {
        ticket.hold(0)
        throw error
      })
      .finally(() => ticket.stop()),
  )
  const states = (await Promise.allSettled(charged)).map(({ status }) => status)
  t.same(states, [...Array(4).fill('fulfilled'), ...Array(6).fill('rejected')])
  t.equal(scheduler.all.held, 4 * MB)
})

t.test('a task whose caller has left does not begin, and nothing is read for it any more', async (t) => {
  const { scheduler, begun, enter, enterAll, pass, waited } = schedulerOf({ small: { all: 1, perKey: 1 } })
  const caller = new AbortController()
  const first = await enter('a1')
  const [atTick, atTurn] = [new AbortController(), new AbortController()]
  const left = t.rejects(enter('a2', SMALL, atTick.signal), { message: 'gone' })
  await enterAll('a3')
  const late = t.rejects(enter('b1', SMALL, atTurn.signal), { message: 'gone' })
  atTick.abort(new Error('gone'))
  await pass(50)
  await left
  atTurn.abort(new Error('gone'))
  first.stop()
  await late
  await setImmediate()
  t.same(begun, ['a1', 'a3'])
  t.same(waited, [
    [50, 'small'],
    [50, 'small'],
    [50, 'small'],
  ])
  t.same(scheduler.all.waiting, { small: 0, large: 0 })

  const { scheduler: free, enter: enterFree } = schedulerOf()
  const running = await enterFree('a1', SMALL, caller.signal)
  caller.abort(new Error('gone'))
  await t.rejects(running.charge(1), { message: 'gone' })
  await t.rejects(enterFree('a2', SMALL, caller.signal), { message: 'gone' })
  t.equal(free.all.running.small, 1, 'it keeps its place until it is released')
})

t.test('a wait ends with a refusal after its time, and with the error when all fail', async (t) => {
  const { scheduler, enter, pass, waited } = schedulerOf({ small: { all: 1, perKey: 1 }, waitMs: 1000 })
  const first = await enter('a1')
  const patient = await enter('b1', LARGE)
  patient.stop()
  const longer = patient.start(SMALL, 3000)
  const refused = t.rejects(enter('a2'), new Overloaded())
  await pass(999)
  t.equal(scheduler.all.waiting.small, 2)
  await pass(1)
  await refused
  t.same(waited.splice(0), [[1000, 'small']])
  first.stop()
  await longer
  t.same(waited.splice(0), [[1000, 'small']])
  const waiting = ['a3', 'c1'].map((name) => t.rejects(enter(name), { message: 'down' }))
  scheduler.failAll(new Error('down'))
  await Promise.all(waiting)
  t.same(scheduler.all.running, { small: 1, large: 0 }, 'what runs goes on')
})

t.test('a task may leave its place and enter again, and another one of its key may run beside it', async (t) => {
  const { scheduler, begun, enter, enterAll, release } = schedulerOf({ small: { all: 2, perKey: 1 } })
  const task = await enter('a1')
  await task.charge(LARGE)
  task.stop()
  await enterAll('a2')
  const again = task.start(SMALL)
  t.equal(scheduler.all.waiting.small, 1)
  await release('a2')
  await again
  await task.charge(LARGE)
  t.same([task.size, begun], ['small', ['a1', 'a2']], 'what it read before does not count again')
})

t.test('while the service is late, a key with many tasks under way gets no further one', async (t) => {
  const { scheduler, enterAll, pass } = schedulerOf({ small: { all: 10, perKey: 6 } })
  await enterAll('a1 a2 a3 a4 a5 a6 a7 a8 b1 b2 b3')
  const refused = () => ['a', 'b', 'c'].filter((key) => scheduler.refuses(key)).join()
  t.equal(refused(), '')
  await pass(400)
  t.equal(refused(), '')
  await pass(500, 250)
  t.equal(refused(), 'a', 'ticks are late')
  await pass(300)
  t.equal(refused(), 'a', 'small tasks wait for too long')
  scheduler.failAll(new Error('over'))
  await pass(500)
  t.equal(refused(), '')
  await pass(50, 350)
  t.equal(refused(), '', 'one late tick is no reason')
})

t.test('while the service is late, a key that is alone gets as many tasks as before', async (t) => {
  const { scheduler, tickets, enterAll, release, pass } = schedulerOf({ small: { all: 10, perKey: 6 } })
  await enterAll('a1 a2 a3 a4 a5 a6 a7 a8')
  await pass(500, 250)
  t.notOk(scheduler.refuses('a'), 'nobody would be served sooner')
  await enterAll('b1')
  t.same([scheduler.refuses('a'), scheduler.refuses('b')], [true, false])
  await release('b1')
  t.notOk(scheduler.refuses('a'))
  await enterAll('b2 b3', LARGE)
  t.ok(scheduler.refuses('a'), 'tasks of any size count')
  tickets.get('a1')?.hold(1000 * MB)
  t.same([scheduler.refuses('a'), scheduler.refuses('b')], [true, true], 'memory is another limit')
})

/** Something that happens to a scheduler. `pick` chooses one of the tasks for which it can happen. */
const event = fc.record({
  kind: fc.constantFrom(
    ...['small', 'small', 'small', 'large', 'charge', 'hold', 'release', 'release', 'abort', 'tick'],
    ...['work', 'work', 'pause', 'pause'],
  ),
  pick: fc.nat(1000),
  amount: fc.nat(1.5 * LARGE),
})

interface Task {
  readonly key: string
  readonly caller: AbortController
  size: Size
  state: 'waiting' | 'grown' | 'running' | 'over'
  ticket?: Ticket
  held: number
  /** Of work: what it needs, whether that is reserved, and how it ends. */
  readonly needs: number
  isReserved?: boolean
  end?: () => void
}

t.test('never more tasks run than may, none waits that could run, and nothing is forgotten', async () => {
  const options = {
    small: { all: 3, perKey: 2 },
    large: { all: 2, perKey: 1 },
    memory: { all: 2 * MB, partOfLeft: 1 },
  }
  const run = async (events: readonly { kind: string; pick: number; amount: number }[]) => {
    const { scheduler, pass } = schedulerOf(options)
    const tasks: Task[] = []
    const those = (...states: Task['state'][]) => tasks.filter(({ state }) => states.includes(state))
    const running = (size: Size, key?: string) =>
      those('running').filter((task) => task.size === size && (key ?? task.key) === task.key).length
    const held = (key?: string) =>
      tasks.reduce((sum, task) => sum + ((key ?? task.key) === task.key ? task.held : 0), 0)
    const reserved = (key?: string) =>
      tasks.reduce((sum, task) => sum + (task.isReserved && (key ?? task.key) === task.key ? task.needs : 0), 0)
    const hasRoom = ({ key, held: own, needs, isReserved }: Task) =>
      needs > 0
        ? isReserved ||
          reserved(key) < options.memory.all - reserved() ||
          needs <= (options.memory.all - reserved()) / 4
        : held(key) - own < options.memory.partOfLeft * (options.memory.all - held() + own)
    const hasPlace = ({ size, key }: Task) =>
      running(size) < options[size].all && running(size, key) < options[size].perKey
    const begin = (size: Size, key: string) => {
      const task: Task = { key, caller: new AbortController(), size, state: 'waiting', held: 0, needs: 0 }
      tasks.push(task)
      scheduler.start(key, size === 'small' ? SMALL : LARGE, task.caller.signal).then(
        (ticket) => Object.assign(task, { state: 'running', ticket, isNew: true }),
        () => Object.assign(task, { state: 'over' }),
      )
    }
    const takeTurn = async (task: Task) => {
      task.state = 'waiting'
      await task.ticket?.start(LARGE)
      Object.assign(task, { state: 'running', isReserved: true })
    }
    const work = (key: string, needs: number) => {
      const ticket = owners.get(key)?.shared() as Ticket
      const [caller, size, state] = [new AbortController(), 'large', 'waiting'] as const
      const task: Task = { key, caller, size, state, ticket, held: 0, needs }
      tasks.push(task)
      const turns = async () => {
        const ended = new Promise<void>((resolve) => {
          task.end = resolve
        })
        await takeTurn(task)
        await ended
      }
      const over = () => Object.assign(task, { state: 'over', isReserved: false })
      ticket.reserving(needs, turns).then(over, over)
    }
    const release = (task: Task | undefined) => {
      Object.assign(task ?? {}, { state: 'over' })
      task?.ticket?.stop()
      task?.end?.()
    }
    const charge = (task: Task, bytes: number) => {
      if (task.needs === 0) task.held += bytes
      const charged = task.ticket?.charge(bytes)
      if (task.ticket?.size !== task.size) Object.assign(task, { size: task.ticket?.size, state: 'grown' })
      charged?.then(
        () => Object.assign(task, { state: 'running' }),
        () => Object.assign(task, { state: 'over' }) && task.ticket?.stop(),
      )
    }
    const happen = async (kind: string, pick: number, amount: number) => {
      const of = (...states: Task['state'][]) => oneOf(those(...states))
      const oneOf = (some: readonly Task[]) => some[pick % Math.max(1, some.length)]
      const isWork = ({ needs }: Task) => needs > 0
      if (kind === 'small' || kind === 'large') begin(kind, 'abcd'[pick % 4] as string)
      else if (kind === 'tick') await pass(amount % 3000)
      else if (kind === 'abort') oneOf(those('waiting', 'grown').filter((task) => !isWork(task)))?.caller.abort()
      else if (kind === 'work') work('abcd'[pick % 4] as string, 1 + 2 * amount)
      else if (kind === 'pause') {
        const task = oneOf(those('running').filter(isWork))
        task?.ticket?.stop()
        if (task !== undefined) takeTurn(task).catch(() => release(task))
      } else if (kind === 'hold') {
        const task = oneOf(those('running', 'over').filter((task) => !isWork(task)))
        if (task?.ticket === undefined) return
        task.held = amount
        task.ticket.hold(amount)
      } else {
        const task = of('running')
        if (task === undefined) return
        if (kind === 'charge') charge(task, amount)
        else release(task)
      }
    }
    const check = (before: readonly Task[]) => {
      for (const size of ['small', 'large'] as const) {
        const most = Math.max(...[...'abcd'].map((key) => running(size, key)))
        if (running(size) > options[size].all || most > options[size].perKey) throw new Error(`too many are ${size}`)
        if (scheduler.all.running[size] !== running(size)) throw new Error('another number runs')
        if (scheduler.all.waiting[size] !== those('waiting', 'grown').filter((task) => task.size === size).length)
          throw new Error('another number waits')
      }
      if (scheduler.all.held !== held()) throw new Error('another amount is held')
      if (scheduler.all.reserved !== reserved()) throw new Error('another amount is reserved')
      const largest = Math.max(0, ...tasks.map(({ needs, isReserved }) => (isReserved ? needs : 0)))
      if (reserved() - largest >= options.memory.all) throw new Error('too much is reserved')
      for (const task of those('running').filter((task) => before.includes(task) && !hasRoom(task)))
        throw new Error(`a task of ${task.key} has begun without memory`)
      const could = those('waiting', 'grown').find(
        (task) => !task.caller.signal.aborted && hasPlace(task) && hasRoom(task),
      )
      if (could !== undefined) throw new Error(`a task of ${could.key} waits and could run`)
    }
    const owners = new Map<string, Ticket>()
    for (const key of 'abcd') {
      const owner = await scheduler.start(key, SMALL)
      owner.stop()
      owners.set(key, owner)
    }
    for (const { kind, pick, amount } of events) {
      const waiting = those('waiting', 'grown')
      await happen(kind, pick, amount)
      await settled()
      check(waiting)
    }
    for (const task of tasks) {
      task.held = 0
      if (task.needs === 0) task.ticket?.hold(0)
    }
    await pass(50)
    for (let rounds = 0; those('waiting', 'grown', 'running').length > 0; rounds++) {
      if (rounds > tasks.length) throw new Error('a task waits for ever')
      await happen('release', 0, 0)
      await settled()
      check([])
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(event, { minLength: 10, maxLength: 60 }), run), { numRuns: runs(50, 150) })
})

t.test('of keys that always have tasks waiting, none reads more than another by more than one task', async () => {
  const costs = fc.array(fc.nat(LARGE), { minLength: 1, maxLength: 8 })
  const run = async (all: readonly number[][]) => {
    const { begun, enter } = schedulerOf({ small: { all: 1, perKey: 1 } })
    const most = SMALL + Math.max(...all.flat())
    const paid = all.map(() => 0)
    const tickets: Ticket[] = []
    const enterOne = (key: number) => enter('abcd'[key] as string).then((ticket) => tickets.push(ticket))
    for (const key of all.keys()) for (let n = 0; n < 3; n++) enterOne(key)
    for (let n = 0; n < 40; n++) {
      while (tickets.length === 0) await setImmediate()
      const ticket = tickets.pop() as Ticket
      const key = 'abcd'.indexOf(begun.at(-1) as string)
      const cost = all[key]?.[n % (all[key]?.length as number)] as number
      await ticket.charge(cost)
      paid[key] = (paid[key] as number) + SMALL + cost
      if (Math.max(...paid) - Math.min(...paid) > most) throw new Error(`after ${n} tasks the keys had ${paid}`)
      enterOne(key)
      ticket.hold(0)
      ticket.stop()
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(costs, { minLength: 2, maxLength: 4 }), run), { numRuns: runs(30, 100) })
})

t.test('a task that waits for something else lets others run, and goes on as it was', async (t) => {
  const one = { all: 1, perKey: 1 }
  const scheduler = new FairScheduler({ small: one, large: one, memory: { all: 1e9, partOfLeft: 1 }, waitMs: 10_000 })
  for (const size of ['small', 'large'] as const) {
    const ticket = await scheduler.start('a', size === 'small' ? SMALL : LARGE)
    const running = await ticket.yieldWhile(async () => ({ ...scheduler.all.running }))
    t.same(running, { small: 0, large: 0 })
    t.match(ticket, { isRunning: true, size })
    await t.rejects(
      ticket.yieldWhile(() => Promise.reject(new Error('broken'))),
      { message: 'broken' },
    )
    t.equal(ticket.isRunning, false, 'what has failed waits for no turn')
  }
})

t.test('work that needs little goes on beside what holds much', async (t) => {
  const { scheduler, enter } = schedulerOf({ memory: { all: 4 * MB, partOfLeft: 1 / 3 } })
  const owner = await enter('a1')
  owner.stop()
  const begun: string[] = []
  const ends: (() => void)[] = []
  const work = (name: string, bytes: number) => {
    const ticket = owner.shared()
    return ticket.reserving(bytes, async () => {
      await ticket.large(async () => void begun.push(name))
      await new Promise<void>((resolve) => ends.push(resolve))
    })
  }
  const all = [work('half', 2 * MB), work('much', MB), work('little', MB / 2)]
  await settled()
  t.same([begun, scheduler.all.reserved], [['half', 'little'], 2.5 * MB])
  ends[0]?.()
  await settled()
  t.same(begun.at(-1), 'much')
  for (const end of ends) end()
  await Promise.all(all)
})

t.test('work reserves its memory when it begins, and what it reads counts as no unread response', async (t) => {
  const { scheduler, enter, begun } = schedulerOf({ memory: { all: 4 * MB, partOfLeft: 1 / 3 } })
  const owner = await enter('a1')
  owner.hold(4 * MB)
  owner.stop()
  const ends: (() => void)[] = []
  const work = async (name: string, bytes: number) => {
    const ticket = owner.shared()
    await ticket.reserving(bytes, async () => {
      await ticket.large(async () => ticket.charge(8 * MB))
      begun.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
      await ticket.reserving(8 * MB, () => ticket.large(async () => {}))
    })
  }
  const all = [work('one', MB), work('two', 8 * MB), work('three', 1)]
  await settled()
  t.same([begun.splice(0), scheduler.all.reserved], [['a1', 'one', 'two'], 9 * MB], 'one may be beyond the bound')
  t.equal(scheduler.all.held, 4 * MB)
  ends[0]?.()
  await all[0]
  t.same([begun.splice(0), scheduler.all.reserved], [[], 8 * MB], 'what has begun waits for no memory')
  ends[1]?.()
  await settled()
  t.same([begun.splice(0), scheduler.all.reserved], [['three'], 1])
  ends[2]?.()
  await Promise.all(all)
  t.equal(scheduler.all.reserved, 0)
})

t.test('a key has a bound on the tasks that wait for something else', async (t) => {
  const many = { all: 1000, perKey: 1000 }
  const scheduler = new FairScheduler({ small: many, large: many, memory: { all: 1e9, partOfLeft: 1 }, waitMs: 10_000 })
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const asideOf = async (key: string) => (await scheduler.start(key, SMALL)).yieldWhile(() => ended)
  const waiting = Array.from({ length: 200 }, () => asideOf('a'))
  await t.rejects(asideOf('a'), Overloaded)
  const other = asideOf('b')
  end()
  await Promise.all([...waiting, other])
  t.equal(await asideOf('a'), undefined, 'it may again')
})
