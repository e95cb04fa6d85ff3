"""Made-up corrections of a made-up office, and what is asked later: the material on which recall is measured.

Nothing is copied from a data set, nothing needs the store, and the same seed gives the same records everywhere.
A record is the keyword arguments of `ws.corrections.record`. An entity and a field occur once, but for two kinds:
chains, where a correction is corrected later, and twins, which two tenants know differently.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from engine.terms import query_terms

RecordArguments: TypeAlias = dict[str, Any]
TENANTS: Final = ("north", "south", None)
USERS: Final = ("ana", "ben", "chloé", "dietrich", "小林")


@dataclass(frozen=True)
class Query:
    """What is asked: `right` is the index of the record that must come first, None where none is relevant."""

    text: str
    right: int | None
    caller: dict[str, str | None] = field(hash=False)


@dataclass(frozen=True)
class Chain:
    """Records about one thing, oldest first: only the last holds.

    `again`: the same wrong output was corrected anew. `onward`: what it was corrected to was wrong in its turn.
    """

    kind: Literal["again", "onward"]
    indexes: tuple[int, ...]


@dataclass(frozen=True)
class Domain:
    """A desk of the office: its agent, how its inputs read, what they are about, and what goes wrong."""

    agent: str
    inputs: tuple[str, ...]
    entities: tuple[str, ...]
    values: dict[str, tuple[Any, ...]]


def _cross(pattern: str, *parts: str) -> tuple[str, ...]:
    """Return every combination of the words of `parts`, put into `pattern`."""
    made = [""]
    for part in parts:
        made = [f"{start}|{word}" for start in made for word in part.split()]
    return tuple(pattern.format(*words.split("|")[1:]) for words in made)


_DATES: Final = tuple(f"{2023 + n % 3}-{1 + n * 5 % 12:02d}-{1 + n * 7 % 28:02d}" for n in range(60))
_AMOUNTS: Final = tuple(round(17.35 * n * n + 40, 2) for n in range(1, 60))
_COUNTS: Final = tuple(range(2, 90))
_PEOPLE: Final = (
    "Meyer",
    "Maier",
    "Mayr",
    "Lefèvre",
    "Lefebvre",
    "Okafor",
    "Okoro",
    "Tanaka",
    "Takana",
    "Novák",
    "Novotný",
    "Silva",
    "Silveira",
    "Haddad",
    "Hadid",
    "Kowalski",
    "Kowalczyk",
    "Jensen",
    "Jansen",
    "Iversen",
    "Ivanova",
    "Ivanov",
    "García",
    "Garcés",
    "Brandt",
    "Brand",
)
_REASONS: Final = (
    "The document says so.", "Read from the wrong line.", "Confirmed on the phone.", "Old master data.",
    "Zwei Kunden verwechselt.", "Confusion avec l'année précédente.", "系统里的旧数据。", "",
)  # fmt: skip

DOMAINS: Final[dict[str, Domain]] = {
    "invoices": Domain(
        "invoice_reader",
        (
            "Invoice {ref} from {entity}, dated {date}. Read the {field}.",
            "{entity} sent a bill, number {ref}. What is the {field}?",
            "Rechnung {ref} von {entity} vom {date}: bitte {field} auslesen.",
        ),
        _cross("{} {}", "ACME Borealis Cordoba Deltaform Eisenwerk Fjordline Granit Halcyon", "GmbH Ltd SARL Inc"),
        {
            "payment_term": tuple(f"{n} days" for n in range(5, 95, 3)),
            "total": _AMOUNTS,
            "due_date": _DATES,
            "currency": ("EUR", "USD", "GBP", "CHF", "SEK", "JPY"),
            "vat_rate": (0, 5.5, 7, 10, 16, 19, 20, 21, 25),
            "cost_centre": tuple(f"CC-{n * 37 + 1000}" for n in range(50)),
            "vat_id": tuple(f"DE{n * 7919 + 111111111}" for n in range(50)),
        },
    ),
    "medicine": Domain(
        "chart_assistant",
        (
            "Summarise the chart of patient {entity}, admission {ref}, and give the {field}.",
            "Patient {entity} seen on {date}, note {ref}. Fill in: {field}.",
            "Dossier {ref}, patient {entity} : indiquer {field}.",
        ),
        _cross("{}, {}", "Meyer Maier Okafor Okoro Lefèvre Lefebvre Novák Silva", "A. B. K. M."),
        {
            "dose": tuple(f"{n} mg" for n in (5, 10, 20, 25, 40, 50, 75, 100, 250, 500, 850)),
            "allergy": ("penicillin", "latex", "none known", "nuts", "iodine", "aspirin", None, "pollen"),
            "blood_group": ("A+", "A-", "B+", "B-", "AB+", "AB-", "O+", "O-"),
            "ward": ("3 West", "3 East", "ICU", "Station 4", "Maternité", "day clinic"),
            "follow_up_date": _DATES,
            "systolic_pressure": tuple(range(95, 185, 3)),
        },
    ),
    "logistics": Domain(
        "shipment_tracker",
        (
            "Track container {entity} on booking {ref} and report the {field}.",
            "Update of {date}: container {entity}, order {ref}. State the {field}.",
            "货柜 {entity},订单 {ref},请填写 {field}。",
        ),
        tuple(f"{['MSKU', 'TGHU', 'OOLU', 'MSCU'][n % 4]}{4200130 + n * 11}" for n in range(36)),
        {
            "port_of_discharge": ("Rotterdam", "Hamburg", "Antwerpen", "宁波", "上海", "Le Havre", "Gdańsk"),
            "gross_weight_kg": tuple(n * 413 + 900 for n in range(50)),
            "arrival_date": _DATES,
            "pallets": _COUNTS,
            "incoterm": ("FOB", "CIF", "DAP", "DDP", "EXW", "FCA"),
            "carrier": ("Blue Anchor Line", "Blue Anker Linie", "Northsea Feeder", "Orient Express Cargo", "东方航运"),
        },
    ),
    "law": Domain(
        "contract_reviewer",
        (
            "Review agreement {entity}, file {ref}, signed {date}. Extract the {field}.",
            "Agreement {entity}: which {field} applies? File {ref}.",
            "Vertrag {entity}, Akte {ref}: {field} nennen.",
        ),
        _cross("{}-{}", "NDA MSA SLA DPA LEASE", "Orion Orient Vega Vegas Lyra Lyon"),
        {
            "notice_period": tuple(f"{n} weeks" for n in range(1, 30)),
            "governing_law": ("German law", "English law", "droit français", "Swiss law", "Texas law", "中国法律"),
            "liability_cap": _AMOUNTS,
            "counterparty": _PEOPLE,
            "effective_date": _DATES,
            "auto_renewal": (True, False),
        },
    ),
    "hr": Domain(
        "people_desk",
        (
            "Employee {entity}, case {ref}: look up the {field}.",
            "Prepare the letter of {date} for {entity} with the right {field} ({ref}).",
            "Mitarbeiterakte {entity}, Vorgang {ref}, Angabe {field}.",
        ),
        _cross("{} {}", "Jonas Johanna Amélie Emilie Wei", "Jensen Jansen Brandt Brand Tanaka Haddad Hadid"),
        {
            "vacation_days": tuple(range(18, 41)),
            "start_date": _DATES,
            "grade": ("E3", "E4", "E5", "T1", "T2", "AT"),
            "manager": _PEOPLE,
            "weekly_hours": (20, 24, 28, 30, 32, 35, 38.5, 40),
            "office": ("Lyon", "Köln", "Leeds", "Lille", "深圳", "Kassel"),
        },
    ),
    "software": Domain(
        "release_bot",
        (
            "Service {entity}, ticket {ref}: set the {field} in the manifest.",
            "Write the release notes of {date} for {entity} ({ref}), with the {field}.",
            "Deploy {entity} per {ref}. Which {field}?",
        ),
        _cross("{}-{}", "billing building search session checkout", "api app worker cron proxy web"),
        {
            "timeout_ms": tuple(n * 250 for n in range(1, 60)),
            "replicas": _COUNTS,
            "image_tag": tuple(f"v{n % 7}.{n % 13}.{n % 5}" for n in range(60)),
            "owner_team": ("platform", "payments", "growth", "core", "infra", "数据组"),
            "log_level": ("debug", "info", "warning", "error"),
            "feature_flag": (True, False),
        },
    ),
    "travel": Domain(
        "trip_planner",
        (
            "Book trip {entity}, request {ref}, leaving {date}. Confirm the {field}.",
            "Traveller file {entity}: what {field} is on {ref}?",
            "Voyage {entity}, demande {ref} : préciser {field}.",
        ),
        _cross("{}-{}", "Oslo Porto Prague Paris Perth", "Kyoto Quito Lisbon Lima Malaga Malta"),
        {
            "hotel": ("Hotel Adler", "Hotel Adlon", "Hôtel du Lac", "Harbour Inn", "上海和平饭店", "Casa Azul"),
            "departure_time": tuple(f"{6 + n % 16:02d}:{n * 5 % 60:02d}" for n in range(60)),
            "seat": tuple(f"{n}{'ACDF'[n % 4]}" for n in range(3, 40)),
            "per_diem": _AMOUNTS,
            "visa_required": (True, False),
            "return_date": _DATES,
        },
    ),
    "lab": Domain(
        "assay_reader",
        (
            "Read the run sheet {ref} of sample {entity} and note the {field}.",
            "Sample {entity}, measured on {date}, sheet {ref}. Report the {field}.",
            "Probe {entity}, Blatt {ref}: {field} eintragen.",
        ),
        tuple(f"{['SRX', 'SXR', 'RXS'][n % 3]}-{n * 13 + 200}" for n in range(34)),
        {
            "ph": tuple(round(3 + n * 0.17, 2) for n in range(50)),
            "concentration": tuple(f"{n * 3 + 1} µmol/L" for n in range(50)),
            "incubation_hours": _COUNTS,
            "storage_temperature": tuple(f"{n} °C" for n in (-196, -80, -20, 2, 4, 8, 20, 25, 37)),
            "batch": tuple(f"LOT{n * 91 + 5000}" for n in range(50)),
            "reagents": (["PBS", "EDTA"], ["EDTA"], ["Tris", "NaCl"], ["NaCl"], ["DMSO", "PBS"]),
        },
    ),
    "property": Domain(
        "lease_clerk",
        (
            "Flat {entity}, file {ref}: enter the {field}.",
            "Handover of {entity} on {date}, protocol {ref}. Note the {field}.",
            "Wohnung {entity}, Protokoll {ref}, {field} festhalten.",
        ),
        _cross("{} {}", "Lindenstraße Lindenallee Rue-Haute Rue-Basse Mill-Lane", "4 4a 14 40 41 104"),
        {
            "monthly_rent": _AMOUNTS,
            "deposit": _AMOUNTS,
            "area_m2": _COUNTS,
            "key_count": tuple(range(1, 12)),
            "tenant_name": _PEOPLE,
            "heating": ("gas", "district heat", "Wärmepumpe", "pompe à chaleur", "oil", None),
        },
    ),
    "insurance": Domain(
        "claims_desk",
        (
            "Policy {entity}, claim {ref} of {date}: determine the {field}.",
            "Write to the holder of policy {entity} about {ref}; give the {field}.",
            "Police d'assurance {entity}, sinistre {ref} : {field}.",
        ),
        tuple(f"{['HH', 'KFZ', 'HHX', 'KF'][n % 4]}-{n * 101 + 70000}" for n in range(34)),
        {
            "deductible": _AMOUNTS,
            "loss_date": _DATES,
            "cause": ("hail", "burst pipe", "theft", "Sturm", "dégât des eaux", "fire", "collision"),
            "payout": _AMOUNTS,
            "adjuster": _PEOPLE,
            "covered": (True, False),
        },
    ),
}  # fmt: skip

# Each line: desk | field | input | wrong | right | reason | the same situation in other words |
#            a neighbour: another situation of the same topic: input | wrong | right
_PAIRS: Final = """
invoices|skonto|Supplier offers two percent off when we settle within ten days|0 %|2 %|The early settlement rebate was overlooked|How much cheaper does it get if the bill is paid quickly?|Supplier charges interest when we settle after sixty days|0 %|8 %
invoices|duplicate|Same invoice arrived twice, once by post and once by mail|new|already booked|It must not be entered again|A bill we have on file came in a second time as a PDF|Invoice arrived by post with no order reference|booked|return to sender
invoices|reverse_charge|Consultant from Poland lists no VAT|19 %|0 %|Tax is owed by the recipient for services across borders|A freelancer abroad left out sales duty; what rate should be keyed in?|Consultant from Bonn lists no VAT|0 %|19 %
invoices|credit_note|Document titled Gutschrift for returned chairs|payable|receivable|It lowers what we owe|Seller refunds furniture that was sent back: plus or minus for us?|Document titled Proforma for ordered chairs|payable|ignore
invoices|bank_details|Letterhead shows another IBAN than the master data|use the letterhead|hold and call the vendor|Fraudsters swap account numbers|A supplier suddenly wants its money transferred somewhere else|Letterhead shows another address than the master data|hold|update the address
invoices|retention|Builder's final bill for the roof|pay in full|withhold 5 % for a year|Security for defects in the works|Contractor finished the top of the house; may we transfer everything now?|Builder's monthly bill for scaffolding|withhold 5 %|pay in full
medicine|dose|Metformin for a woman whose kidneys filter poorly|1000 mg twice|500 mg once|Renal clearance below forty|How many diabetes tablets with weak nephrons?|Metformin for a woman with gestational sugar|500 mg once|insulin instead
medicine|interaction|Man on warfarin asks for ibuprofen|allow|paracetamol instead|Bleeding risk|Someone taking blood thinners wants a painkiller|Man on warfarin asks for a flu shot|refuse|allow
medicine|allergy|Child got hives after amoxicillin|no known allergy|penicillin|The rash is recorded in the nursing sheet|A kid's skin broke out from an antibiotic|Child got hives after strawberries|penicillin|food
medicine|fasting|Colonoscopy scheduled at nine|breakfast allowed|clear liquids only|The bowel must be empty|What may someone eat the morning before a gut examination?|Mammography scheduled at nine|clear liquids only|breakfast allowed
medicine|laterality|Knee replacement, surgeon's plan|right|left|The X-ray was mirrored|Which leg gets the artificial joint?|Hip replacement, cemented stem|left|uncemented
medicine|units|Glucose reported as 5.4|mg/dL|mmol/L|The analyser is European|Is this sugar reading in the American or the metric scale?|Creatinine reported as 88|mg/dL|µmol/L
logistics|temperature|Reefer with vaccines to Nairobi|-18 °C|2 to 8 °C|Freezing ruins them|How cold must the immunisation shots be kept in transit?|Reefer with prawns to Bergen|2 to 8 °C|-18 °C
logistics|hazard_class|Pallet of lithium batteries|general cargo|UN 3480 class 9|They may ignite|Do phone accumulators count as dangerous goods?|Pallet of lead weights|UN 3480|general cargo
logistics|hs_code|Cotton T-shirts from Dhaka|6205|6109|Knitted, not woven|Which tariff number do jersey tops from Bangladesh fall under?|Cotton bed sheets from Dhaka|6109|6302
logistics|demurrage|Box stayed nine days on the quay|free|charged from day six|Free time is five days|Do we owe the port a fee because the container was left there too long?|Box stayed three days at our yard|charged|free
logistics|address|Deliver to the warehouse behind the old brewery|front gate|ramp C, Hinterhof|Trucks cannot turn at the front|Where should the lorry driver unload?|Deliver samples to reception of the warehouse|ramp C|front gate
logistics|stacking|Crates of wine glasses|three layers|do not stack|Lower ones were crushed|Can fragile tableware be piled up?|Crates of roof tiles|do not stack|three layers
law|limitation|Claim for unpaid wages from 2019|still open|time-barred|Three years have passed|Can a former worker sue over salary that old?|Claim for unpaid wages under a settlement|time-barred|thirty years
law|jurisdiction|Clause names courts of Geneva for disputes|Zürich|Geneva|Amended in the annex|Where would a lawsuit between the parties be heard?|Clause names arbitration in Geneva for pricing|courts|arbitration
law|signature|Termination of employment sent as a scanned PDF|valid|void|Ink on paper is required|Is firing somebody by e-mail effective?|Holiday request sent as a scanned PDF|void|valid
law|confidentiality|Duty of secrecy ends with the agreement|ends|survives five years|See paragraph twelve|How long after the deal is over must we keep quiet?|Duty of exclusivity ends with the agreement|survives|ends
law|force_majeure|Factory flooded, parts late|breach|excused|Natural disaster clause|Is the maker liable for missing a deadline because of high water?|Factory on strike, parts late|excused|breach
law|subprocessor|Processor moves customer files to a host in Texas|no consent needed|written consent|Third country transfer|May our vendor store personal information in America?|Processor moves customer files to a host in Dublin|written consent|notice only
hr|parental_leave|Father of twins wants seven months at home|two months|seven months|Both parents share fourteen|How long may a dad stay off work for his babies?|Father of a pupil wants Friday at home|seven months|one day
hr|probation|Six month trial, illness in the third|extended|not extended|Law forbids it|Does being sick prolong the initial test phase of a job?|Six month trial, promotion in the third|not extended|ended early
hr|overtime|Sales director worked sixty hours|paid out|included in salary|Executive contract|Does a senior boss get extra cash for long weeks?|Sales trainee worked fifty hours|included|paid out
hr|sick_note|Cough since Monday, back on Wednesday|certificate needed|none needed|Required from day four|Must someone with a brief cold bring a letter from the doctor?|Cough since Monday, back in a fortnight|none needed|certificate needed
hr|remote_work|Developer moves to Portugal for the winter|allowed|ninety days at most|Social security rules|Can a programmer do her job from abroad until spring?|Developer moves desks within the building|ninety days|allowed
hr|reference_letter|Leaver asks for a Zeugnis|bad wording|stets zu unserer vollsten Zufriedenheit|Agreed in court|What phrase of praise goes in the testimonial of our ex-colleague?|Leaver asks for her laptop photos|deleted|sent on a stick
software|retry|Payment webhook fails with 500|drop|retry with backoff|Events were lost|What should happen when the shop's money notification errors out?|Payment webhook arrives twice|retry|ignore by key
software|timezone|Cron job fires at midnight|Berlin|UTC|Servers have no local clock|In which zone does the nightly task run?|Cron job fires at noon on Sundays|UTC|disabled
software|encoding|Import of names with umlauts from a CSV|latin-1|utf-8|Müller became MÃ¼ller|Accented letters look garbled after loading the spreadsheet|Import of prices with commas from a CSV|utf-8|decimal comma
software|rollback|Release 8.3 doubles memory|keep|go back to 8.2|Pods were killed|The latest version eats too much RAM; what now?|Release 8.3 renames an endpoint|go back|add an alias
software|secrets|Password committed in the repository|delete the line|rotate it|History keeps everything|Somebody pushed credentials to git; is removing them enough?|Password field shown on the login page|rotate|mask it
software|pagination|List endpoint returns 100 rows only|all rows|follow next_cursor|Result is truncated|Why does the API give an incomplete set of customers?|List endpoint returns rows unsorted|follow cursor|order by id
travel|visa|Indian engineer changes planes in Frankfurt|none|airport transit visa|Nationality requires it|Does a colleague from Mumbai need papers just to switch flights in Germany?|Indian engineer visits the fair in Frankfurt|transit visa|Schengen visa
travel|baggage|Trade show banners on a budget airline|cabin|oversize hold luggage|Tubes exceed the limit|How do we fly with exhibition posters rolled up long?|Trade show leaflets on a budget airline|hold|cabin
travel|cancellation|Hotel in Lisbon, plans dropped the day before|free|first night charged|Deadline is 48 hours|What do we lose if we call off the room at the last moment?|Hotel in Lisbon, name on the booking changed|charged|free
travel|connection|Train lands at 10:05, ferry leaves 10:20|fine|take the 12:20|Walking takes half an hour|Is there enough time to get from the railway to the ship?|Train leaves at 10:05, seat reserved in the quiet coach|12:20|coach 4
travel|mileage|Salesman used his own car|0.20|0.30 per km|Rate of this year|What does an agent get back for driving privately?|Salesman used a hired bicycle|0.30|receipt only
travel|meals|Conference lunch was included|full allowance|reduced by 40 %|Food was provided|Does the daily expense sum shrink if the organiser feeds us?|Conference badge was lost|reduced|fee of 15
lab|contamination|Blank control shows growth|valid run|discard|The medium was not sterile|Bacteria appeared in the empty tube; can we use the results?|Positive control shows growth|discard|valid run
lab|dilution|Absorbance above 2.0|report as is|repeat at 1:10|Detector saturates|The reading is off the top of the scale for this liquid|Absorbance drifting at night|repeat|recalibrate lamp
lab|expiry|Antibody opened in March|use|throw away|Stable for four weeks|Is the reagent too old to work with in summer?|Antibody shipped in March without ice|throw away|test first
lab|calibration|Balance shows 100.8 g for the standard|adjust later|out of service|Tolerance is 0.1|The scale weighs the reference mass wrongly|Balance shows drift when the door is open|out of service|close the door
lab|freezer|Alarm at minus 52 overnight|samples fine|mark as compromised|They thawed partly|The cold store warmed up while nobody was there|Alarm at the fume hood overnight|compromised|sash left open
lab|identity|Barcode of tube 7 smeared|guess from the position|exclude|No proof of origin|A vial's label cannot be read; whose is it?|Barcode of rack 7 printed twice|exclude|reprint
property|deposit|Tenant moved out, walls scratched|returned in full|200 withheld|Damage beyond wear|How much of the security money does the renter get after spoiling the paint?|Tenant moved in, walls unpainted|200 withheld|first month free
property|heating|Radiators cold on the fourth floor|tenant pays|landlord repairs|Pump defective|Who covers fixing the missing warmth upstairs?|Radiators noisy on the ground floor|landlord|bleed them
property|pets|Family wants a labrador|forbidden|allowed with consent|Blanket bans are void|May these people keep a dog?|Family wants a trampoline in the yard|allowed|forbidden
property|keys|Cylinder lost on the tram|replace one|change the whole system|Master access|Someone mislaid what opens every door|Cylinder stiff in winter|change|oil it
property|noise|Drummer practises at eleven at night|tolerated|warn in writing|Quiet hours|The neighbour plays music late and others cannot sleep|Drummer practises at noon on weekdays|warn|tolerated
property|mould|Black spots behind the wardrobe|cleaning|rent reduced 20 %|Thermal bridge in the wall|Fungus grows in the bedroom; may the occupant pay less?|Black spots on the balcony tiles|rent reduced|cleaning
insurance|hail|Car roof dented by ice from the sky|collision|comprehensive|Weather event|Storm left bumps on a vehicle: which cover applies?|Car roof dented by a crane|comprehensive|third party
insurance|theft|Bicycle unlocked in the courtyard|covered|declined|Lock is a condition|A bike disappeared that was not chained up|Bicycle chained in the cellar|declined|covered
insurance|water|Washing machine hose burst while away|declined|paid half|Tap was left open|Laundry appliance flooded the kitchen during the holidays|Washing machine delivered broken|paid half|warranty
insurance|beneficiary|Life policy names the first wife|current wife|first wife|Never amended after the divorce|Who inherits the sum if he remarried without telling us?|Life policy names the employer|family|employer
insurance|deadline|Accident reported after five weeks|rejected|accepted|He lay in a coma|Is a late notice of injury excused by unconsciousness?|Accident reported by a witness|accepted|ask the driver
insurance|travel_cover|Skier broke a leg off piste|excluded|covered with rescue|Premium tariff|Who pays for the helicopter from outside the marked slopes?|Skier broke a rented pole|covered|excluded
banking|limit|Card refused at the petrol pump abroad|no funds|daily cap reached|Preauthorisation counts|Why could I not pay for fuel in Italy?|Card swallowed at the airport|cap reached|wrong PIN thrice
banking|sepa|Direct debit bounced|account closed|no mandate|Signature missing|Why was the automatic collection sent back?|Direct debit collected early|no mandate|bank holiday
kitchen|allergen|Carrot soup thickened with flour|gluten free|contains wheat|Roux|Can a coeliac guest have the orange starter?|Carrot cake with walnuts|contains wheat|contains nuts
kitchen|cooling|Rice left on the counter since lunch|reheat|bin it|Bacillus cereus|Are warm grains from midday safe for dinner?|Rice soaked since lunch|bin it|cook
school|absence|Pupil missed the exam with a migraine|fails|sits it again|Doctor's slip handed in|A girl had a bad headache on test day|Pupil left the exam early with a smile|sits it again|graded
school|bus|Route 4 skips the mill in winter|7:10|6:55 at the church|Road is icy|Where do kids from there get picked up when it snows?|Route 4 adds the pool in summer|6:55|7:25
it_support|printer|Lines across every page on floor two|new toner|clean the drum|Dust on the glass|Copies come out with stripes|Paper jam on every page on floor two|clean the drum|new rollers
it_support|vpn|Tunnel drops every hour|restart|renew the certificate|It expired|Home office staff keep getting disconnected|Tunnel slow every evening|renew|other gateway
"""  # noqa: E501  (a line is a case)
_PAIR_COLUMNS: Final = 10

# Nothing like this happens in the office above.
_TOPICS: Final = (
    "volcanoes", "the violin", "Saturn", "sourdough", "chess openings", "penguins", "haiku", "knitting", "jazz",
    "dinosaurs", "the Roman senate", "surfing", "origami", "coral reefs", "opera", "bonsai", "tarot", "fencing",
    "sled dogs", "calligraphy",
)  # fmt: skip
_ASKS: Final = (
    "Tell me something surprising about {}.", "Explain {} to a child of six.", "Write a limerick about {}.",
    "Which film has the best scene with {}?", "Erzähl mir etwas über {}.", "Recommend a podcast on {}.",
)  # fmt: skip
# They share frequent words with the records, and mean nothing in them.
_DECOYS: Final = (
    "What is the total of the first {n} primes?", "Who painted the port of Honfleur {n} times?",
    "Write a poem of {n} lines with the word invoice in it.", "Spell 'patient' backwards {n} times.",
    "How many days does Mars need for {n} orbits?", "Set a kitchen timer to {n} minutes.",
    "Name {n} songs with the word container in the title.", "Convert {n} kilos of feathers to ounces.",
    "Which novel has {n} chapters and a hotel in it?", "How many employees does Santa have for {n} sleighs?",
    "Give me {n} rhymes for service.", "Is {n} a perfect square? State the reason.",
)  # fmt: skip
_UNRELATED: Final = (
    "hi", "thanks, that is all", "lol", "ok", "Wie geht es dir?", "你好吗?", "Bonne nuit !", "🙂", "Good morning!",
    "Are you a robot?", "Tell me a joke.", "Which colour do you like?", "asdf jkl", "Who won the world cup in 1974?",
    "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)", "SELECT count(*) FROM stars GROUP BY galaxy",
    "for (let i = 0; i < 10; i++) console.log(i)", "Solve x^2 - 5x + 6 = 0.", "What is the integral of sin(x)?",
    "Prove that the square root of 2 is irrational.", "Translate 'butterfly' into Finnish.", "Sing me a lullaby.",
    "How tall is the Eiffel tower?", "Why is the sky blue?", "When did the Bronze Age begin?", "An IPv6 regex, please",
    "Who wrote Moby-Dick?", "Which moon has an ocean?", "How do bees find their way home?", "What rhymes with orange?",
)  # fmt: skip

_QUESTIONS: Final = (
    "What is the {field} of {entity}?",
    "{entity}: {field} = {wrong}",
    "Please check {entity}, I have {wrong} as the {field}.",
    "{field} {entity} {ref}",
    "Once more the case {ref} about {entity}; I am unsure about the {field}.",
)


def records(n: int = 2300, seed: int = 1) -> list[RecordArguments]:
    """Return `n` corrections, oldest first; the hand-written, the chains and the twins are always among them."""
    rng = random.Random(seed)
    sequences: list[list[RecordArguments]] = []
    for pair in _pairs():
        sequences += [[_written(pair, 2, rng)], [_written(pair, 7, rng)]]
    slots = [(name, entity, key) for name, desk in DOMAINS.items() for entity in desk.entities for key in desk.values]
    rng.shuffle(slots)
    slots.sort(key=lambda slot: len(DOMAINS[slot[0]].values[slot[2]]) < 4)  # chains and twins need several values
    for slot in slots[:45]:
        first = _made(slot, "north", rng)
        other = first | {"tenant_id": "south", "corrected_value": _other(slot, rng, first)}
        sequences += [[first], [other]]
    for at, slot in enumerate(slots[45:195]):
        sequences.append(_chain(slot, at, rng))
    missing = n - sum(map(len, sequences))
    if not 0 <= missing <= len(slots) - 195:
        raise ValueError(f"Between {n - missing} and {n - missing + len(slots) - 195} records can be made, not {n}.")
    sequences += [[_made(slot, rng.choice(TENANTS), rng)] for slot in slots[195 : 195 + missing]]
    turns = [at for at, sequence in enumerate(sequences) for _ in sequence]
    rng.shuffle(turns)
    streams = [iter(sequence) for sequence in sequences]
    return [next(streams[at]) for at in turns]


def lexical_queries(given: Sequence[RecordArguments], n: int = 400, seed: int = 2) -> list[Query]:
    """Return queries that share words with the one record they are about: its entity, value, reference or input."""
    rng = random.Random(seed)
    made = [indexes[0] for indexes in _groups(given).values() if len(indexes) == 1]
    return [_query(given, at, rng) for at in rng.sample(made, min(n, len(made)))]


def paraphrase_queries(given: Sequence[RecordArguments]) -> list[Query]:
    """Return the hand-written queries: each means what its record means and has no word of content in common."""
    places = {record["original_input"]: at for at, record in enumerate(given)}
    return [Query(pair[6], places[pair[2]], _caller(given[places[pair[2]]])) for pair in _pairs()]


def unrelated_queries(given: Sequence[RecordArguments], seed: int = 3) -> list[Query]:
    """Return what has nothing to do with any record, asked by the callers that there are."""
    rng = random.Random(seed)
    texts = [ask.format(topic) for topic in _TOPICS for ask in _ASKS]
    texts += [decoy.format(n=n) for decoy in _DECOYS for n in rng.sample(range(3, 400), 6)]
    return [Query(text, None, _caller(rng.choice(given))) for text in (*_UNRELATED, *texts)]


def stale(given: Sequence[RecordArguments]) -> list[Chain]:
    """Return the chains: what one caller's records say about one field of one entity, corrected more than once."""
    chains = []
    for indexes in _groups(given).values():
        if len(indexes) > 1:
            first, second = (given[at] for at in indexes[:2])
            same = first["original_value"] == second["original_value"]
            chains.append(Chain("again" if same else "onward", tuple(indexes)))
    return chains


def stale_queries(given: Sequence[RecordArguments], seed: int = 4) -> list[Query]:
    """Return a query for each chain; right is its last record alone."""
    rng = random.Random(seed)
    return [_query(given, chain.indexes[-1], rng) for chain in stale(given)]


def tenant_queries(given: Sequence[RecordArguments], seed: int = 5) -> list[Query]:
    """Return queries in twos: one text, asked in two tenants, with another right record in each."""
    rng = random.Random(seed)
    places: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for at, record in enumerate(given):
        if record["entity_key"] is not None and record["tenant_id"] is not None:
            places[record["entity_key"], record["field"]][record["tenant_id"]] = at
    queries = []
    for twins in places.values():
        if len(twins) > 1:
            text = _query(given, twins["north"], rng).text
            queries += [Query(text, at, _caller(given[at])) for at in twins.values()]
    return queries


def content(text: str) -> frozenset[str]:
    """Return the words of content of `text`, each cut to a crude stem."""
    return frozenset(_stem(term) for term in query_terms(text))


def words_of(record: RecordArguments) -> str:
    """Return all that a record says, as one text."""
    shown = ("entity_key", "field", "original_input", "original_value", "corrected_value", "reason", "tags")
    return " ".join(str(record[name]).replace("_", " ") for name in shown if record[name] is not None)


def _stem(term: str) -> str:
    cut = re.sub(r"(?:ations?|ments?|ings?|edly|ed|ies|ers?|es|ly|al|s|e|y)$", "", term)
    return cut if len(cut) >= 3 else term


def _pairs() -> list[list[str]]:
    return [line.split("|") for line in _PAIRS.strip().splitlines()]


def _agent(desk: str) -> str:
    return DOMAINS[desk].agent if desk in DOMAINS else f"{desk}_agent"


def _written(pair: Sequence[str], start: int, rng: random.Random) -> RecordArguments:
    """Return the record of a hand-written line whose input is in column `start`."""
    said, wrong, right = pair[start : start + 3]
    reason = pair[5] if start == 2 else ""
    return _arguments(pair[0], pair[1], None, said, wrong, right, reason, rng.choice(TENANTS), rng)


def _made(slot: tuple[str, str, str], tenant: str | None, rng: random.Random) -> RecordArguments:
    desk, entity, key = slot
    wrong, right = _two(DOMAINS[desk].values[key], rng)
    ref = f"{rng.choice('ABKLQR')}{rng.randrange(10_000, 100_000)}"
    said = rng.choice(DOMAINS[desk].inputs).format(ref=ref, entity=entity, date=rng.choice(_DATES), field=_spoken(key))
    return _arguments(desk, key, entity, said, wrong, right, rng.choice(_REASONS), tenant, rng)


def _arguments(
    desk: str,
    key: str,
    entity: str | None,
    said: str,
    wrong: object,
    right: object,
    reason: str,
    tenant: str | None,
    rng: random.Random,
) -> RecordArguments:
    scope = rng.choice(("user", "agent", "tenant", "tenant", "global") if tenant else ("user", "agent", "global"))
    return {
        "agent_name": _agent(desk),
        "original_value": wrong,
        "corrected_value": right,
        "field": key,
        "reason": reason,
        "entity_key": entity,
        "original_input": said,
        "tags": [desk] if rng.random() < 0.3 else [],
        "scope": scope,
        "user_id": rng.choice(USERS),
        "tenant_id": tenant,
    }


def _chain(slot: tuple[str, str, str], at: int, rng: random.Random) -> list[RecordArguments]:
    """Return two records, or three in every fifth chain, that correct one another."""
    chain = [_made(slot, rng.choice(TENANTS), rng)]
    for _ in range(2 if at % 5 == 0 else 1):
        last = chain[-1]
        wrong = last["original_value"] if at % 2 else last["corrected_value"]
        chain.append(last | {"original_value": wrong, "corrected_value": _other(slot, rng, last)})
    return chain


def _other(slot: tuple[str, str, str], rng: random.Random, record: RecordArguments) -> object:
    """Return a third value."""
    known = (record["original_value"], record["corrected_value"])
    return rng.choice([value for value in DOMAINS[slot[0]].values[slot[2]] if value not in known])


def _two(values: Sequence[object], rng: random.Random) -> tuple[object, object]:
    wrong = rng.choice(values)
    return wrong, rng.choice([value for value in values if value != wrong])


def _groups(given: Sequence[RecordArguments]) -> dict[tuple[str | None, ...], list[int]]:
    """Return the records with an entity, by who may see them and what they are about, oldest first."""
    groups: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for at, record in enumerate(given):
        if record["entity_key"] is not None:
            groups[record["tenant_id"], record["agent_name"], record["entity_key"], record["field"]].append(at)
    return groups


def _query(given: Sequence[RecordArguments], at: int, rng: random.Random) -> Query:
    """Return a question about a record, or the next input of its agent about the same thing."""
    record = given[at]
    desk = next(desk for desk in DOMAINS.values() if desk.agent == record["agent_name"])
    ref = re.search(r"\b[A-Z]\d{5}\b", record["original_input"])
    said = rng.choice((*desk.inputs, *_QUESTIONS))
    known = ref[0] if ref and said in _QUESTIONS else f"Z{rng.randrange(10_000, 100_000)}"
    text = said.format(
        ref=known,
        entity=record["entity_key"],
        date=rng.choice(_DATES),
        field=_spoken(record["field"]),
        wrong=record["original_value"],
    )
    return Query(text, at, _caller(record))


def _caller(record: RecordArguments) -> dict[str, str | None]:
    """Return a caller who may see the record."""
    return {name: record[name] for name in ("agent_name", "user_id", "tenant_id")}


def _spoken(key: str) -> str:
    return key.replace("_", " ")
