// XLSX files for exports: an archive of a workbook with one sheet. The rows of the sheet are compressed while they come.
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { ZipFile } from 'yazl'
import type { FileWriter } from './file.js'

/** The most rows of a sheet, with the row of names. */
const MAX_ROWS = 1_048_576
export const MAX_RECORDS = MAX_ROWS - 1
/** The most bytes of a sheet: archives of more need an extension that not every program reads. */
const MAX_BYTES = 0xffff_ffff
/** How many bytes are compressed at once. */
const CHUNK_BYTES = 256 * 1024
/** The time of each part, so that equal rows are equal files. */
const MTIME = new Date(2000, 0)
/** Of 1 to 9: more takes several times as long and makes a file that is hardly smaller. */
const COMPRESSION = 1
/** The least and the greatest width of a column, in characters. */
const WIDTHS = [8, 60] as const
/** As many characters as a time has. */
const TIME_WIDTH = 20

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
const SHEET = 'xl/worksheets/sheet1.xml'
const ROW_END = '</row>'

const relationships = (...targets: [type: string, target: string][]): string => {
  const all = targets.map(
    ([type, target], i) => `<Relationship Id="r${i + 1}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
  )
  return `${XML}<Relationships xmlns="${PACKAGE}/relationships">${all.join('')}</Relationships>`
}

/** The parts of a workbook besides its sheet. Style 1 is a time. */
const partsOf = (name: string): Record<string, string> => ({
  '[Content_Types].xml': `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/${SHEET}" ContentType="${TYPE}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/></Types>`,
  '_rels/.rels': relationships(['officeDocument', 'xl/workbook.xml']),
  'xl/workbook.xml': `${XML}<workbook ${MAIN} xmlns:r="${RELATIONSHIPS}"><sheets><sheet name="${name}" sheetId="1" r:id="r1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': relationships(['worksheet', 'worksheets/sheet1.xml'], ['styles', 'styles.xml']),
  'xl/styles.xml': `${XML}<styleSheet ${MAIN}><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/><xf numFmtId="164" xfId="0" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
})

/** A column for each name, as wide as the longest text of the first rows. */
const columnsOf = (rows: string): string => {
  const widths: number[] = []
  for (const row of rows.split(ROW_END)) {
    for (const [column, cell] of row.split('<c').slice(1).entries()) {
      const width = cell.startsWith(' s="1"') ? TIME_WIDTH : cell.replace(/^[^>]*>|<[^>]*>/g, '').length
      widths[column] = Math.max(widths[column] ?? 0, width)
    }
  }
  const [least, most] = WIDTHS
  const all = widths.map((width, i) => {
    const characters = Math.min(Math.max(width + 2, least), most)
    return `<col min="${i + 1}" max="${i + 1}" width="${characters}" customWidth="1"/>`
  })
  return `<cols>${all.join('')}</cols>`
}

/** The letters of a column, by its number from 1. */
const lettersOf = (column: number): string =>
  column === 0 ? '' : lettersOf(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + ((column - 1) % 26))

/** An XLSX file whose bytes come part by part. It has no directory before its end, so what is cut off opens nowhere. */
export class XlsxFile implements FileWriter {
  readonly #zip = new ZipFile()
  readonly #sheet = new PassThrough()
  #ready: Buffer[] = []
  #rows = 0
  #bytes = 0

  /** @param columns how many columns a row has */
  constructor(
    name: string,
    readonly columns: number,
  ) {
    for (const [path, xml] of Object.entries(partsOf(name)))
      this.#zip.addBuffer(Buffer.from(xml), path, { mtime: MTIME })
    this.#zip.addReadStream(this.#sheet, SHEET, { mtime: MTIME, compressionLevel: COMPRESSION })
    this.#zip.end()
    this.#zip.outputStream.on('data', (bytes: Buffer) => this.#ready.push(bytes))
  }

  /** @throws Error if the rows are more than a sheet has */
  async write(rows: Buffer): Promise<Buffer> {
    if (this.#bytes === 0) {
      await this.#add(
        Buffer.from(
          `${XML}<worksheet ${MAIN}><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>${columnsOf(rows.toString())}<sheetData>`,
        ),
      )
    }
    for (let at = rows.indexOf(ROW_END); at !== -1; at = rows.indexOf(ROW_END, at + ROW_END.length)) this.#rows += 1
    if (this.#rows > MAX_ROWS) throw new Error(`A sheet of XLSX has at most ${MAX_ROWS} rows, with the row of names`)
    await this.#add(rows)
    return this.#take()
  }

  async end(): Promise<Buffer> {
    const last = `${lettersOf(this.columns)}${this.#rows}`
    const isText = `<ignoredErrors><ignoredError sqref="A1:${last}" numberStoredAsText="1"/></ignoredErrors>`
    this.#sheet.end(`</sheetData><autoFilter ref="A1:${last}"/>${isText}</worksheet>`)
    await once(this.#zip.outputStream, 'end')
    return this.#take()
  }

  close(): void {
    this.#sheet.destroy()
  }

  /** Adds bytes to the sheet, and waits until they are on their way. */
  async #add(bytes: Buffer): Promise<void> {
    this.#bytes += bytes.length
    if (this.#bytes > MAX_BYTES) throw new Error(`A sheet of XLSX has at most ${MAX_BYTES} bytes`)
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      await new Promise((resolve) => this.#sheet.write(bytes.subarray(at, at + CHUNK_BYTES), resolve))
    }
  }

  #take(): Buffer {
    const bytes = Buffer.concat(this.#ready)
    this.#ready = []
    return bytes
  }
}
