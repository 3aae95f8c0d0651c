// Draws a line chart with two logarithmic axes as an SVG.

export interface Line {
  name: string
  points: readonly (readonly [x: number, y: number])[]
}

const WIDTH = 820
const HEIGHT = 420
const LEFT = 70
const RIGHT = WIDTH - 300
const TOP = 50
const BOTTOM = HEIGHT - 60
const COLOURS = ['#1b6ca8', '#c8553d', '#3a7d44', '#8e44ad', '#7f6a00']

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Maps numbers to positions on an axis. The axis begins and ends with a power of ten, so its labels are few and round. */
const axis = (values: readonly number[], from: number, to: number) => {
  const low = Math.floor(Math.log10(Math.min(...values)) + 1e-9)
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9))
  return {
    at: (value: number) => from + ((Math.log10(value) - low) / (high - low)) * (to - from),
    ticks: Array.from({ length: high - low + 1 }, (_, n) => 10 ** (low + n)),
  }
}

const label = (value: number) => (value >= 1 ? value.toLocaleString('en') : String(Number(value.toPrecision(1))))

export const plot = (title: string, xTitle: string, yTitle: string, lines: readonly Line[]): string => {
  const points = lines.flatMap((line) => line.points)
  const x = axis(
    points.map(([value]) => value),
    LEFT,
    RIGHT,
  )
  const y = axis(
    points.map(([, value]) => value),
    BOTTOM,
    TOP,
  )
  const grid = [
    ...x.ticks.flatMap((tick) => [
      `<path class="grid" d="M${x.at(tick)} ${TOP}V${BOTTOM}"/>`,
      `<text x="${x.at(tick)}" y="${BOTTOM + 20}" text-anchor="middle">${label(tick)}</text>`,
    ]),
    ...y.ticks.flatMap((tick) => [
      `<path class="grid" d="M${LEFT} ${y.at(tick)}H${RIGHT}"/>`,
      `<text x="${LEFT - 8}" y="${y.at(tick) + 4}" text-anchor="end">${label(tick)}</text>`,
    ]),
  ]
  const drawn = lines.flatMap(({ name, points }, n) => {
    const colour = COLOURS[n % COLOURS.length]
    const places = points.map(([a, b]) => [x.at(a).toFixed(1), y.at(b).toFixed(1)] as const)
    const row = TOP + 10 + n * 22
    return [
      `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${places.map((place) => place.join(',')).join(' ')}"/>`,
      ...places.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colour}"/>`),
      `<path stroke="${colour}" stroke-width="3" d="M${RIGHT + 16} ${row}h20"/>`,
      `<text x="${RIGHT + 42}" y="${row + 4}">${escaped(name)}</text>`,
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
    `<title>${escaped(title)}</title>`,
    '<style>text{font:13px sans-serif;fill:#222}.grid{stroke:#ddd;fill:none}</style>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="26" style="font-size:16px">${escaped(title)}</text>`,
    ...grid,
    `<text x="${(LEFT + RIGHT) / 2}" y="${BOTTOM + 46}" text-anchor="middle">${escaped(xTitle)}</text>`,
    `<text transform="translate(18 ${(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escaped(yTitle)}</text>`,
    ...drawn,
    '</svg>\n',
  ].join('\n')
}
