// Made-up people: given and family names that are common in Nigeria, put together by chance. No real person belongs here.
import { faker } from '@faker-js/faker/locale/en_NG'
import { pick, type Random } from './random.js'

// Faker's Nigerian names are plain ASCII, so names as their bearers write them are mixed in. Faker serves as a book of
// names alone: its generator is shared by the whole process and would tie the data to who else uses it.
const { first_name, last_name } = faker.definitions.person

const givenNames = [
  ...['Ọláyínká', 'Adébáyọ̀', 'Bọ́láńlé', 'Títílayọ̀', 'Fọláṣadé', 'Káyọ̀dé', 'Olúwaṣeun', 'Ayọ̀délé'],
  ...['Chinyẹ̀rẹ', 'Añulika', 'Ọbịnna', 'Ifeọma', 'Ụzọma', 'Nkechi', 'Kelechi', 'Amarachi'],
  ...['Aisha', 'Hauwa', 'Garba', 'Sani', 'Ladi', 'Terver', 'Doosuur', 'Ekaette', 'Itoro', 'Osaze', 'Ebiere', 'Tonye'],
  ...Object.values(first_name)
    .flat()
    .filter((name) => name !== 'Sname'), // a slip in faker's list
]

const familyNames = [
  ...['Adéwálé', 'Ọlátúnjí', 'Ògúnbíyì', 'Ọbádínà', 'Ọkafọ', 'Nwọsu', 'Eze', 'Ụkachukwu'],
  ...['Abdullahi', 'Danladi', 'Gambo', 'Akpan', 'Effiong', 'Iorfa', 'Ighodaro', 'Briggs'],
  ...Object.values(last_name).flat(),
]

const plain = (name: string) =>
  name
    .normalize('NFD')
    .replace(/[^a-z]/gi, '')
    .toLowerCase()

/** A person; `mark` keeps apart the addresses of people of the same name. */
export function makePerson(random: Random, mark: string) {
  const firstName = pick(random, givenNames)
  const lastName = pick(random, familyNames)
  return { firstName, lastName, email: `${plain(firstName)}.${plain(lastName)}.${mark}@example.org` }
}
