// Prints the accepted entries of an organisation, one a line, with openapi-fetch.
//
//     npm install openapi-fetch openapi-typescript typescript && npm pkg set type=module
//     npx openapi-typescript "$API_URL/openapi.yaml" --output schema.d.ts
//     npx tsc --module nodenext --target es2022 entries.ts
//     API_URL=http://127.0.0.1:3000 API_KEY=... node entries.js
import createClient from 'openapi-fetch'
import type { paths } from './schema.js'

declare const process: { env: Record<string, string | undefined> } // @types/node has it too

const api = createClient<paths>({
  baseUrl: `${process.env.API_URL}`,
  headers: { authorization: `Bearer ${process.env.API_KEY}` },
})

for (let cursor: string | undefined = '*'; cursor !== undefined; ) {
  const query: { cursor: string; status: string } = { cursor, status: 'accepted' }
  const { data, error } = await api.GET('/v1/entries', { params: { query } })
  if (error) throw new Error(`${error.code}: ${error.detail}`)
  for (const { id, createdAt, answers } of data.data) console.log(id, createdAt, answers.length)
  cursor = data._metadata.nextCursor
}
