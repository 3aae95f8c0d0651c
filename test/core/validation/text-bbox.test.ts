// Boxes on the map, as parameters write them.
import t from 'tap'
import { boxOf } from '../../../src/core/validation/text.js'

t.test('a box has two corners, of two numbers each or of three', (t) => {
  t.same(boxOf('2.6,4.2,14.7,13.9'), { west: 2.6, south: 4.2, east: 14.7, north: 13.9 })
  t.same(boxOf('-180,-90,180,90'), { west: -180, south: -90, east: 180, north: 90 })
  t.same(boxOf('+1.,-.5,1e-1,2E0'), { west: 1, south: -0.5, east: 0.1, north: 2 })
  t.same(boxOf('178,-20,-178,-10'), { west: 178, south: -20, east: -178, north: -10 }, 'across the antimeridian')
  t.same(boxOf('1,2,-100,3,4,9000'), { west: 1, south: 2, east: 3, north: 4 }, 'heights are ignored')
  t.same(boxOf('1,2,1,2'), { west: 1, south: 2, east: 1, north: 2 }, 'a point')
  t.end()
})

t.test('any other text says what is wrong with it', (t) => {
  for (const [text, fault] of [
    ['', 'has a value that is not a number'],
    ['1,2,3,', 'has a value that is not a number'],
    ['1,2,3,four', 'has a value that is not a number'],
    ['1, 2,3,4', 'has a value that is not a number'],
    ['1,2,3,Infinity', 'has a value that is not a number'],
    ['1,2,3,0x4', 'has a value that is not a number'],
    ['1,2,3', 'has 3 numbers'],
    ['1,2,3,4,5', 'has 5 numbers'],
    ['1,2,3,4,5,6,7', 'has 7 numbers'],
    ['-180.1,2,3,4', 'has a longitude beyond 180 degrees'],
    ['1,2,1e999,4', 'has a longitude beyond 180 degrees'],
    ['1,-91,3,4', 'has a latitude beyond 90 degrees'],
    ['1,2,3,90.5', 'has a latitude beyond 90 degrees'],
    ['1,5,3,4', 'has a first latitude that is greater than its second'],
  ] as const) {
    t.same(boxOf(text), fault, text)
  }
  t.end()
})
