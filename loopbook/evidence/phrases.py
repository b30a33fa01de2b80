"""How people say that checks pass, and how they say something else with the same words: data.

Theory. A claim is a *subject* (what was checked) with a *verdict* right behind it, or one of a few
set phrases (a count, "no lint errors", "clean build"). What stands before and behind it in the
sentence decides whether it is one: conditions, plans, wishes, questions, other people's words and
former states are none. English only: in another language nothing matches, so nothing is claimed.

All values are regular expressions or words for text in lower case with straight apostrophes, as
``prose`` makes it. Every repetition is bounded. ``claims`` puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

#: What a claim is about. ``checks``: all of them at once ("all checks pass").
Category = Literal["tests", "build", "lint", "types", "format", "checks"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- what is claimed -------------------------------------------------------------------

_SCRIPT = r"(?:npm|yarn|pnpm|bun|deno|composer)(?: task| run)?"

#: What can be said to pass, by category; of several that match at a place the first counts.
SUBJECTS: Mapping[Category, str] = {
    "types": (
        r"type[- ]?check(?:ers?|ing|s)?(?: checks?)?|type analysis|mypy|(?:based)?pyright|tsc|ty check"
        r"|dialyzer|typescript(?: compil(?:er|ation)| checks?| build)?|phpstan|psalm"
        rf"|{_SCRIPT} type-?check"
    ),
    "format": (
        r"format(?:ting|ter)?(?: checks?)?|(?:ruff|mix) format|cargo fmt|gofmt|rustfmt|prettier(?: check)?"
        rf"|black|{_SCRIPT} format(?::check)?"
    ),
    "lint": (
        r"lint(?:ers?|ing|s)?(?: checks?| rules?| run| step)?|(?:es|ox|style|py|swift|kt)lint|ruff(?: check)?"
        r"|flake8|(?:cargo )?clippy|golangci-lint|go vet|rubocop|biome(?: check)?|(?:mix )?credo|detekt"
        rf"|shellcheck|static analysis|(?:{_SCRIPT}|make|just) lint"
    ),
    "tests": (
        rf"(?:{_SCRIPT}|go|cargo|mix|make|dotnet|swift|gradle|mvn|rake|bazel|flutter|just) tests?"
        r"|py\.?test|jest|vitest|mocha|rspec|phpunit|ctest|cargo nextest"
        r"|test[- ](?:suites?|cases?|runs?|files?)|(?:doc|unit|sub)?tests?|specs|suite"
    ),
    "build": (
        rf"(?:{_SCRIPT}|go|cargo|dotnet|swift|vite|next|gradle|docker|make) build|mix compile|cargo check"
        r"|compilation|compile|builds?"
    ),
    "checks": (
        r"(?:ci |quality |pre-commit |validation |verification |other )?checks|pre-commit(?: hooks?)?"
        r"|quality gates?|everything"
    ),
}

#: Verdicts that need no verb, verbs, and what they say.
PASSES = r"pass|passe[sd]|passing|succeed(?:s|ed|ing)?|green"
VERBS = (
    r"is|are|was|were|been|be|stay(?:s|ed)?|remain(?:s|ed)?|looks?|comes?(?: back| out)?|came(?: back| out)?"
    r"|ran|runs?|executed|finish(?:es|ed)?|complete[sd]?|report(?:s|ed)?|show(?:s|ed)?|return(?:s|ed)?"
    r"|exit(?:s|ed)?|gives?|gave|finds?|found|has|have"
)
GOOD = (
    r"passing|passed|green|clean|successful|happy|satisfied|successfully|cleanly|all good|error[- ]free"
    r"|(?:run|executed|completed) (?:successfully|cleanly|and (?:all )?(?:passed|passing|green))"
)
#: What may stand between subject and verdict, up to four times.
FILLERS = (
    r"now|all|still|both|also|again|already|currently|successfully|cleanly|finally|fully|just|indeed|each|do"
    r"|consistently|have|has|locally|then|here|once again|continues? to|completely|too"
)
#: "pass" with an object, or as half of another word: "tests pass a string to", "test pass rate".
NOT_A_VERDICT = (
    r"(?:to|through|into|along|around|by|back|via|it|its|them|him|us|this|these|those|an?|the|null|none|true"
    r"|false|invalid|valid|data|arg(?:ument)?s?|param(?:eter)?s?|values?|rates?|counts?|percentage|light"
    r"|criteri(?:a|on)|condition|ratio|threshold|as(?! expected| well| before)|in as|or fail|/ ?fail|fail"
    r"|over|flags?|options?|messages?|strings?|is|isn't|was|means|depends)\b"
)
#: Words that narrow a subject from behind ("tests in tests/a"), and those that cannot be in between.
NARROWED_BY = r"in|for|of|under|from|covering|on|around|related to"
NOT_NARROWING = (
    r"and|or|but|that|which|who|when|if|so|to|we|i|it|they|is|are|was|were|not|should|must|will|can"
    r"|builds?|lint"
)

#: Things that may be wrong, what one says of them when they are not, and their kinds.
TROUBLES = r"errors?|warnings?|failures?|issues?|problems?|violations?|complaints?|diagnostics"
NONE_OF = r"no|zero|0|without(?: any)?"
FIXED = r"fixed|resolved|gone|cleared|eliminated|addressed|cleaned up"
TROUBLE_KINDS: Mapping[Category, str] = {
    "types": r"type(?:[- ]check(?:ing|er)?)?|typing|typescript|tsc|mypy|pyright|dialyzer",
    "lint": r"lint(?:ing|er)?|eslint|ruff|flake8|clippy|credo|rubocop|pylint|biome|style",
    "format": r"format(?:ting|ter)?|prettier",
    "build": r"compil(?:e|er|ation)|build|syntax",
    "tests": r"test",
}
#: Subjects of "compiles" and "builds" that need no adverb.
BUILT = (
    r"code(?:base)?|project|app(?:lication)?|crate|package|module|library|repo(?:sitory)?|everything"
    r"|workspace|solution|binary|program|site|server|client|frontend|backend|it"
)
#: Marks for done and not done, and what vouches in a label or a table: "Tests: ✅", "Lint | clean".
CHECK_MARKS = "✅✓✔☑🟢"
CROSS_MARKS = "❌✗✘🔴⬜☐⏳🚧⚠"
LABEL_VERDICT = (
    rf"[{CHECK_MARKS}]|(?:all )?(?:pass(?:es|ed|ing)?|ok|green|clean|succeeded|success(?:ful)?"
    rf"|no (?:{TROUBLES})|0 (?:{TROUBLES}))\b"
)

# --- how wide it is --------------------------------------------------------------------

#: Words before a subject that narrow nothing.
WHOLE = _words(
    "all the full whole entire complete our my your its these this those every each both of"
    " project's repo's automated project repo repository overall production now that and with ✅ ✓ ✔ a an"
    " test tests suite passes passed"
)
#: Words by which a claim speaks of all there are, and not of those that were run.
UNIVERSAL = _words("all each every both whole entire full complete everything suite suites test-suite")
#: Words that say it is not all of them: such a claim can be borne out, never contradicted.
HEDGES = _words("most some many several half majority nearly almost other others remaining rest only")
#: Words a subject begins with; the walk to the left takes them in.
DETERMINERS = _words("all the our my your its their these this those every each both an a")
#: Words that are no part of a subject; the walk to the left stops before them.
STOP_WORDS = _words(
    "passes passed passing and or but so that which with then now also still because since as after"
    " before if when while where once until unless ran run running rerun reran verified verify confirm"
    " confirmed confirms check checked make makes making made sure ensure ensures ensured is are was were"
    " be been being have has had do does did done see saw shows show showed got get gets keep keeps"
    " keeping fixed fix fixes added add adds updated update wrote write finally ok okay yes great good"
    " perfect not no none neither never to in on for by at from into over about i we you they it he she"
    " there here says said say think believe know expect want need let without should would could might"
    " may must will can cannot than like via plus yet already just even again successfully implemented"
    " committed pushed note status result results summary however therefore"
)
#: Words that except something, in front of the claim or behind it.
EXCEPT = (
    r"except(?:ing)?|apart from|other than|besides|aside from|excluding|minus|save(?: for)?|bar|barring"
    r"|modulo|ignoring|skipping|not counting|without counting|leaving (?:aside|out)"
    r"|with (?:the|one|two|three|a few|some|\d{1,7}) exceptions?"
)
#: Behind a claim: an exception is named. The second kind counts in what follows, too.
EXCEPTIONS = (
    (
        rf"\b(?:{EXCEPT}|but (?:for|one|two|three|\d{{1,7}})|(?:is|are) the exceptions?"
        r"|(?:one|two|some|others) (?:does|do|is|are)(?:n't| not))\b"
        r"|\bbut\s+(?:(?:the|for|not)\s+)?\S{1,60}\s{0,4}$|\S\s+aside\b"
        r"|(?<![\w./])(?P<share>\d{1,7})\s?(?:/|(?:times )?(?:out )?of)\s?(?!(?P=share)\b)\d{1,7}\b(?![./]\d)"
    ),
    (
        r"\b(?:still|one|two|three|four|five|some|several|[1-9]\d{0,6}|the|e2e|integration|only|others?"
        r"|rest|but|with)\b[^.;\n]{0,60}?"
        r"\b(?:fail(?:s|ing|ed|ures?)?|(?:is|are) (?:broken|red)|errored|errors out)\b"
    ),
)
#: In front of a claim: an exception, or a share of all.
EXCEPTED_BEFORE = (
    rf"^\W{{0,8}}(?:{EXCEPT})\b"
    r"|(?:\ball but \S{1,20}|(?<!100)\s?%)(?:\s+of)?(?:\s+(?:the|our|all))?\s+$"
)
#: Right behind a claim: they pass, but not always, or not as they are.
NOT_ALWAYS = (
    r",?\s{1,4}(?:mostly|largely|intermittently|sometimes|usually|occasionally|often|individually"
    r"|separately|alone|in isolation|on their own|one (?:by|at a)|(?:about )?half|when(?:ever)?)\b"
    r"|\s{1,4}(?:with|after|by)\b[^,;:.()]{0,40}?"
    r"\b(?:skip|deselect|disabl|exclud|ignor|revert|remov)(?:p?ed|p?ing)?\b"
)
#: ... unless the failure is denied, over or only imagined.
NO_EXCEPTION = (
    r"\b(?:no|zero|0|not|never|no longer|\w{2,6}n't|were|was|previously|fixed|without|would|if|should)\b"
)
#: Right behind a failure: it is over.
OVER = r"[^.;\n]{0,30}?\b(?:fixed|resolved|gone|passe[sd]|passing|pass)\b"

# --- what makes it no claim ------------------------------------------------------------

_RAN_OR_KNOWN = (
    r"(?:run|ran|verif\w{1,6}|check\w{0,3}|confirm\w{0,3}|test\w{0,3}|know|think|believe|say|claim|guarantee"
    r"|tell|sure|certain|clear|see|execut\w{1,4}|validat\w{1,4})\b"
)
#: Anywhere before it in its sentence, since the last "but": it is conditional, a plan, or not known.
SENTENCE_BLOCKERS: tuple[str, ...] = (
    r"\b(?:if|unless|whether|assuming|provided|suppose|in case|as long as|so that|in order (?:to|for))\b",
    r"\blet(?:'s| me| us)\b",
    (
        r"\b(?:i|we|it|that|they)(?:'ll|'d|(?:'m|'re| am| are)? going to"
        r"| (?:will|would|should|could|can|hope|expect|(?:need|want|plan|intend) to))\b"
    ),
    r"\byou(?:'ll| will| can| should| could| may| might| need| want| must)\b",
    (
        r"\b(?:next(?: steps?| up)?|to-?do|remaining|later|goal|target|plan"
        r"|expected(?: result| outcome| output| behaviou?r)?|acceptance"
        r"|(?:acceptance |success |exit )?criteri(?:a|on)|definition of done"
        r"|(?<!nothing )(?<!nothing is )(?:still|left) to do|requirements?|example|e\.g\.|i\.e\.)\s{0,3}[:,]"
    ),
    (
        r"\b(?:(?:have|has|had|did|do|does|ca|could|wo|was|were)n't|cannot|unable|not|never|without)\s+"
        rf"(?:\S{{1,20}}\s+){{0,3}}?{_RAN_OR_KNOWN}"
    ),
    r"\b(?:unverified|untested|unclear|unsure|unknown)\b",
    r"\b(?:not|n't) (?:true|the case|correct|certain|so) that\b|\bfalse that\b|(?<!no )\bdoubt(?:s|ful)?\b",
    r"\bno (?:evidence|proof|guarantee|sign)\b|\bcontrary to\b|\baccording to\b",
    r"\bper (?:the|your)\b[^,]{0,40}\b(?:logs?|report|author|readme|docs?|ci|message|description)\b",
    (
        r"\bas (?:you|they|he|she|the \S{1,20}) "
        r"(?:says?|said|wrote|noted|mentioned|reported|stated|claim(?:s|ed))\b"
    ),
)
#: Before it in its clause: a demand, a wish, a guess, a purpose, a former state, somebody's words.
CLAUSE_BLOCKERS: tuple[str, ...] = (
    (
        r"\b(?:should|would|could|might|may|must|will|shall|ought|expect(?:s|ed|ing)?|hope(?:fully|s)?"
        r"|probably|presumably|likely|(?:i|we) (?:think|believe)|seems?|appears?|supposed|wants?|wanted"
        r"|needs?|needed|requir(?:es?|ed|ing))\b"
    ),
    (
        r"\b(?:ensur(?:es?|ing)|mak(?:es?|ing)|get(?:s|ting)?|keep(?:s|ing)?|verif(?:y|ying|ies)"
        r"|confirm(?:s|ing)?|validat(?:es?|ing)|see|until|try(?:ing)?|tries|tried|attempt(?:s|ing|ed)?"
        r"|double-check|wait(?:ing)?(?: for)?|allow(?:s|ing)?|lets?|help(?:s|ing)?|prov(?:e|ing)"
        r"|assert(?:s|ing)?|aim(?:s|ing)?|trust|pretend(?:s|ed|ing)?|imagine)\b"
    ),
    r"\bcheck(?:s|ing)?\s+(?:that|if|whether|all|the|your|every|our|for)\b",
    (
        r"\b(?:says?|said|saying|states?|stated|claim(?:s|ed|ing)?|mention(?:s|ed)?|ask(?:s|ed|ing)?|reads"
        r"|wrote|writes|according|quote|tells|told|insists?|assume[sd]?|message|mark(?:s|ed)?|called|named"
        r"|titled)\b"
    ),
    (
        r"\b(?:previously|originally|earlier|initially|formerly|used to|yesterday|last (?:time|week|run)"
        r"|at (?:first|the start)|on (?:main|master))\b"
    ),
    (
        r"\b(?:rather than|instead of|not just|important|essential|critical|crucial|necessary|goal|point"
        r"|as soon as|even though|although|such as|for example|like)\b"
    ),
)
_FEW_WORDS = r"(?:\s+(?!and\b|so\b|now\b|i\b|we\b)[^\s,;:]{1,30}){0,5}"
#: Right before its subject: that is the subject of a subordinate clause, or denied.
ADJACENT_BLOCKERS: tuple[str, ...] = (
    r"\bmake\s+$",
    (
        r"\b(?:once|when|whenever|after|before|until|while|till|by the time|(?:re-?)?run(?:ning)?"
        r"|run all|execute|do|does|did|have|having|how|why|where|what|which)\s+(?:\S{1,20}\s+and\s+)?$"
    ),
    (
        r"\b(?:not|no|none|neither|nor|never|hardly|barely|\w{2,6}n't|nearly|almost|few"
        r"|(?:few|none|neither|0) of|zero|0)\s+$"
    ),
    # A frame of another time, place or state: "before my change, all tests passed".
    (
        r"(?:^|[;:(]\s*)\W{0,4}(?:(?:before|without|prior to) (?:my|the|this|that|your|our|these|any)"
        r"|on (?:(?:the|a) )?(?:main|master|trunk|develop|clean|fresh|original|base|unmodified|upstream|ci)"
        r"|the (?:first|last|previous) (?:time|run)|in the (?:first|last|previous|earlier) run"
        rf"|once(?! again| more)){_FEW_WORDS},?\s+$"
    ),
    (
        rf"(?:^|[;:(]\s*)\W{{0,4}}with{_FEW_WORDS}\s+(?:reverted|removed|disabled|stashed|skipped|excluded|ignored"
        r"|deselected),?\s+$"
    ),
)
#: Behind it, up to the end of its clause.
BLOCKED_BEHIND: tuple[str, ...] = (
    (
        rf"^\s*(?:[:|=–—-]{{1,3}}\s*)?(?:[{CROSS_MARKS}]"
        r"|(?:no|nope|false|fail|failed|not yet|pending|todo|tbd)\s*(?:$|[|.!]))"
    ),
    r"^\s*\(?\s*not (?:really|quite|yet|all)\b",
    (
        r"^\s*(?:\([^()]{0,60}\)\s*)?(?:yet\b|if\b|unless\b|(?:again )?only\b|once\b(?! again| more)"
        r"|provided\b|assuming\b|as long as\b|before\b|until\b|previously\b|originally\b|earlier\b(?! today)"
        r"|yesterday\b|initially\b|or not\b|\?|→|->|=>)"
    ),
    (
        r"^[^,;:.]{0,60}?\b(?:before (?:my|the|this|that|your|our|these|any|i|we|it)|prior to|until"
        r"|on (?:main|master)|in the past)\b"
    ),
)
#: Headings and lead-ins whose lines say what shall be.
PLANS = (
    r"(?:acceptance|success|exit|completion|done) criteria|next steps?|to[- ]?dos?|test plan|plan"
    r"|remaining(?: work| steps| tasks)?|verification (?:plan|steps)|definition of done|requirements?|goals?"
    r"|how to (?:verify|test|run|check)|pending(?: tasks)?|expected (?:results?|outcomes?|behaviou?r)"
    r"|before (?:merging|you merge)|you (?:can|should|need to|may)|should|must|please|options?|suggestions?"
    r"|recommend(?:ed|ations?)|examples?|proposal|follow-ups?|what(?:'s| is) (?:left|next)"
)
