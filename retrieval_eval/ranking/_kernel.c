/* Ranks of judged documents and the measures of them, as hits.py and single.py define them.

   What reads rankings returns None at anything unusual, and Python finds out what it is. While
   references are borrowed no other code runs: ids are of type str, numbers floats and ints. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { MAX_GRADE = 1000, FEW = 64, MOST_PROBES = 256, MOST_FIELDS = 6 };
enum { P, RECALL, F1, RR, AP, NDCG, SUCCESS, RPREC, BPREF, JUDGED }; /* in the order of NAMES */

typedef struct { const void *at; Py_ssize_t size; } Id; /* bytes; a str where the size is -1 */
typedef struct { double score; Id id; uint64_t hash, key; int32_t grade; } Doc;
typedef struct { int32_t rank, grade, first, n_tied; } Hit;
typedef struct { int64_t hits_at, n_hits, grades_at, n_judged, n_retrieved, is_tied; } Query;
typedef struct { int name, rel, is_exp; int64_t cutoff; } Measure;
typedef struct { /* a ranking, the judged documents in it, and the rows that it comes from */
    double *scores;
    Doc *docs, *found;
    int32_t *slots; /* places of documents by hash, from 1 */
    Py_ssize_t n, n_found, room, n_slots, row;
    Py_buffer views[5]; /* text; where a line has no fields, columns */
    const char *at, *end;
    int lowest, is_float32, n_fields, number_at;
} Ranking;

static int compare(Id a, Id b) {
    if (a.size < 0) return PyUnicode_Compare((PyObject *)a.at, (PyObject *)b.at);
    int order = memcmp(a.at, b.at, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_id(const Doc *a, const Doc *b) {
    return a->key != b->key ? (a->key > b->key ? 1 : -1) : compare(a->id, b->id);
}

static int by_score(const void *a, const void *b) {
    const Doc *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return by_id(y, x); /* Ids descend within a tie (trec_eval's rule). */
}

static int by_rank(const void *a, const void *b) { return ((Hit *)a)->rank - ((Hit *)b)->rank; }

static void sort_hits(Hit *hits, Py_ssize_t n) {
    if (n > FEW) { qsort(hits, n, sizeof(Hit), by_rank); return; }
    for (Py_ssize_t i = 1, to; i < n; i++) {
        Hit hit = hits[i];
        for (to = i; to && hits[to - 1].rank > hit.rank; to--) hits[to] = hits[to - 1];
        hits[to] = hit;
    }
}

static int has_room(Ranking *r, Py_ssize_t n) {
    if (n < r->room) return 1;
    Py_ssize_t room = 2 * n + 256;
    if (n > INT32_MAX / 8 || !PyMem_Resize(r->scores, double, room)
        || !PyMem_Resize(r->docs, Doc, room) || !PyMem_Resize(r->found, Doc, room)) return 0;
    r->room = room;
    return 1;
}

/* How many documents, by falling score, are above s; or also at it; or in its tie above doc. */
static Py_ssize_t above(const Ranking *r, double s, int or_at, const Doc *doc) {
    Py_ssize_t low = 0, high = r->n;
    while (low < high) {
        Py_ssize_t mid = (low + high) / 2;
        int is_at = r->scores[mid] == s && (or_at || (doc && by_id(&r->docs[mid], doc) > 0));
        if (r->scores[mid] > s || is_at) low = mid + 1; else high = mid;
    }
    return low;
}

/* The first characters of an id as a number, by which most ids are ordered. */
static uint64_t key_of(Id id) {
    PyObject *text = id.size < 0 ? (PyObject *)id.at : NULL;
    const void *at = text ? PyUnicode_DATA(text) : id.at;
    Py_ssize_t size = text ? PyUnicode_GET_LENGTH(text) : id.size;
    unsigned char first[8] = {0};
    uint64_t key = 0;
    if (!text || PyUnicode_IS_ASCII(text)) memcpy(first, at, Py_MIN(size, 8));
    else for (int i = 0; i < 8 && i < size; i++) {
        Py_UCS4 one = PyUnicode_READ(PyUnicode_KIND(text), at, i);
        first[i] = Py_MIN(one, 255);
        if (one > 254) break; /* What follows one that may be higher says nothing. */
    }
    for (int i = 0; i < 8; i++) key = key << 8 | first[i];
    return key;
}

static void set_keys(Ranking *r, int is_useful) {
    for (Py_ssize_t i = 0; i < r->n; i++) r->docs[i].key = is_useful ? key_of(r->docs[i].id) : 0;
    for (Py_ssize_t f = 0; f < r->n_found; f++)
        r->found[f].key = is_useful ? key_of(r->found[f].id) : 0;
}

static int sort_ranking(Ranking *r) {
    set_keys(r, 1);
    for (Py_ssize_t i = 0; i < r->n; i++) r->docs[i].score = r->scores[i];
    qsort(r->docs, r->n, sizeof(Doc), by_score);
    for (Py_ssize_t i = 0; i < r->n; i++) r->scores[i] = r->docs[i].score;
    return 1;
}

/* Ranks what was found; all documents are sorted only where comparing them takes longer. */
static void rank_found(Ranking *r, Query *query, Hit *hits) {
    Py_ssize_t n = r->n, crowd = 0;
    int is_ordered = 1, is_sorted = 0, is_by_rank = 1;
    for (Py_ssize_t i = 1; i < n; i++) is_ordered &= r->scores[i] <= r->scores[i - 1];
    if (!is_ordered && r->n_found > FEW) is_ordered = is_sorted = sort_ranking(r);
    for (Py_ssize_t f = 0; f < r->n_found; f++) {
        double s = r->found[f].score;
        int32_t first = 0, n_tied = 0;
        if (is_ordered) {
            first = above(r, s, 0, NULL);
            n_tied = first + 1 < n && r->scores[first + 1] == s ? above(r, s, 1, NULL) - first : 1;
        } else for (Py_ssize_t i = 0; i < n; i++) {
            first += r->scores[i] > s;
            n_tied += r->scores[i] == s;
        }
        hits[f] = (Hit){first + 1, r->found[f].grade, first + 1, n_tied};
        crowd += n_tied > 1 ? n_tied : 0;
    }
    if (crowd && !is_sorted) set_keys(r, crowd > n); /* Looking at an id once is what takes long. */
    if (crowd > 16 * n && !is_sorted) is_ordered = is_sorted = sort_ranking(r);
    for (Py_ssize_t f = 0; f < r->n_found; f++) {
        Hit *hit = &hits[f];
        const Doc *doc = &r->found[f];
        Py_ssize_t from = is_ordered ? hit->first - 1 : 0, to = is_ordered ? from + hit->n_tied : n;
        if (hit->n_tied > 1 && is_sorted) hit->rank = above(r, doc->score, 0, doc) + 1;
        else if (hit->n_tied > 1) for (Py_ssize_t i = from; i < to; i++)
            hit->rank += r->scores[i] == doc->score && by_id(&r->docs[i], doc) > 0;
        is_by_rank &= !f || hit[-1].rank < hit->rank;
    }
    if (!is_by_rank) sort_hits(hits, r->n_found);
    query->n_hits = r->n_found;
    query->n_retrieved = n;
    query->is_tied = crowd > 0;
}

/* Takes the sorted grades of every query; 0 where one is irregular, or where there is no memory. */
static int take_judged(PyObject *judged, PyObject **queries, PyObject **hits, PyObject **grades) {
    Py_ssize_t n = PyList_GET_SIZE(judged), room = 0, at = 0;
    int overflow = 0;
    int32_t counts[2 * MAX_GRADE + 1] = {0};
    for (Py_ssize_t q = 0; q < n; q++) {
        if (!PyDict_CheckExact(PyList_GET_ITEM(judged, q))) return 0;
        room += PyDict_GET_SIZE(PyList_GET_ITEM(judged, q));
    }
    if (!(*queries = PyBytes_FromStringAndSize(NULL, n * sizeof(Query)))
        || !(*hits = PyBytes_FromStringAndSize(NULL, room * sizeof(Hit)))
        || !(*grades = PyBytes_FromStringAndSize(NULL, room * sizeof(int32_t)))) return 0;
    Query *query = (Query *)PyBytes_AS_STRING(*queries);
    for (Py_ssize_t q = 0; q < n; q++) {
        PyObject *own = PyList_GET_ITEM(judged, q), *doc, *value;
        Py_ssize_t place = 0, least = MAX_GRADE, most = -MAX_GRADE;
        query[q] = (Query){.grades_at = at, .n_judged = PyDict_GET_SIZE(own)};
        while (PyDict_Next(own, &place, &doc, &value)) {
            if (!PyUnicode_CheckExact(doc) || !PyLong_CheckExact(value)) return 0;
            long grade = PyLong_AsLongAndOverflow(value, &overflow);
            if (overflow || grade > MAX_GRADE || grade < -MAX_GRADE) return 0;
            counts[MAX_GRADE + grade]++;
            least = Py_MIN(least, grade);
            most = Py_MAX(most, grade);
        }
        for (Py_ssize_t grade = least; grade <= most; grade++)
            for (int32_t *left = &counts[MAX_GRADE + grade]; *left; --*left)
                ((int32_t *)PyBytes_AS_STRING(*grades))[at++] = grade;
    }
    return 1;
}

static int number(const Ranking *r, PyObject *value, double *out) {
    if (PyFloat_Check(value)) *out = PyFloat_AS_DOUBLE(value);
    else if (!PyLong_CheckExact(value)) return 0;
    else if ((*out = PyLong_AsDouble(value)) == -1 && PyErr_Occurred()) return 0;
    int is_finite = isfinite(*out);
    if (r->is_float32) *out = (float)*out;
    return is_finite;
}

static uint64_t hash_of(Id id) {
    uint64_t hash = id.size, word;
    const char *at = id.at;
    for (Py_ssize_t left = id.size; left > 0; left -= 8, at += 8) {
        word = 0;
        if (left >= 8) memcpy(&word, at, 8); else for (int i = 0; i < left; i++)
            word |= (uint64_t)(unsigned char)at[i] << 8 * i;
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return hash;
}

/* Where a document is in the table or belongs; NULL where that takes too many probes. */
static int32_t *slot_of(const Ranking *r, uint64_t hash, Id id) {
    for (int i = 0; i < MOST_PROBES; i++) {
        int32_t *slot = &r->slots[(hash + i) & (r->n_slots - 1)];
        if (!*slot) return slot;
        const Doc *doc = &r->docs[*slot - 1];
        if (doc->hash == hash && !compare(doc->id, id)) return slot;
    }
    return NULL;
}

/* Makes the table of all documents; 0 where one occurs twice, or their hashes are too alike. */
static int index_docs(Ranking *r) {
    for (r->n_slots = 256; r->n_slots < 2 * r->n; r->n_slots *= 2);
    if (!PyMem_Resize(r->slots, int32_t, r->n_slots)) return 0;
    memset(r->slots, 0, r->n_slots * sizeof(int32_t));
    for (Py_ssize_t i = 0; i < r->n; i++) {
        r->docs[i].hash = hash_of(r->docs[i].id);
        int32_t *slot = slot_of(r, r->docs[i].hash, r->docs[i].id);
        if (!slot || *slot) return 0;
        *slot = i + 1;
    }
    return 1;
}

/* Finds the judged documents of a ranking in its dictionary, or in the table of its rows. */
static int find(Ranking *r, PyObject *judged, PyObject *run) {
    PyObject *doc, *value;
    Py_ssize_t place = 0;
    r->n_found = 0;
    if (!run && !index_docs(r)) return 0;
    while (r->n && judged && PyDict_Next(judged, &place, &doc, &value)) {
        Doc *found = &r->found[r->n_found];
        found->grade = PyLong_AsLong(value);
        if (found->grade < r->lowest) continue;
        if (run) {
            PyObject *own = PyDict_GetItemWithError(run, doc);
            if (!own || !number(r, own, &found->score)) continue;
            found->id = (Id){doc, -1};
        } else {
            PyObject *text = PyUnicode_AsEncodedString(doc, "utf-8", "surrogatepass");
            if (!text) return 0;
            Id id = {PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)};
            int32_t *slot = slot_of(r, hash_of(id), id);
            Py_DECREF(text);
            if (!slot) return 0;
            if (!*slot) continue;
            found->id = r->docs[*slot - 1].id;
            found->score = r->scores[*slot - 1];
        }
        r->n_found++;
    }
    return 1;
}

static int take_dict(Ranking *r, PyObject *run) {
    PyObject *doc, *value;
    Py_ssize_t place = 0;
    if (!PyDict_CheckExact(run) || !has_room(r, PyDict_GET_SIZE(run))) return 0;
    for (r->n = 0; PyDict_Next(run, &place, &doc, &value); r->n++) {
        if (!PyUnicode_CheckExact(doc) || !number(r, value, &r->scores[r->n])) return 0;
        r->docs[r->n].id = (Id){doc, -1};
    }
    return 1;
}

static int decimal(Id id, double *out) {
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15};
    const char *s = id.at;
    char text[64], *end;
    uint64_t whole = 0;
    Py_ssize_t n = id.size, i = *s == '-', n_digits = 0, point = n - 1;
    for (; i < n; i++) {
        if (s[i] == '.' && point == n - 1) { point = i; continue; }
        unsigned digit = (unsigned char)s[i] - '0';
        if (digit > 9) break;
        whole = whole * 10 + digit;
        n_digits++;
    }
    if (i == n && n_digits && n_digits <= 15) { /* Both are exact, so that the quotient is right. */
        *out = (*s == '-' ? -(double)whole : (double)whole) / powers[n - 1 - point];
        return 1;
    }
    if (n >= (Py_ssize_t)sizeof(text)) return 0;
    memcpy(text, s, n);
    text[n] = 0;
    *out = PyOS_string_to_double(text, &end, NULL);
    return end == text + n && isfinite(*out) && !PyErr_Occurred();
}

/* Reads a row: 1, or 0 at the end, or -1 where it is irregular. */
static int next(Ranking *r, Id *query, Id *doc, double *score) {
    Id fields[MOST_FIELDS], *ids[] = {query, doc};
    const char *at = r->at, *line = at, *start;
    int n = 0, is_ascii = 1;
    if (!r->n_fields) {
        if (r->row >= r->views[4].len / (Py_ssize_t)sizeof(double)) return 0;
        for (int i = 0; i < 2; i++) {
            const int64_t *ends = (const int64_t *)r->views[2 * i + 1].buf + r->row;
            if (ends[0] < 0 || ends[1] < ends[0] || ends[1] > r->views[2 * i].len) return -1;
            *ids[i] = (Id){(const char *)r->views[2 * i].buf + ends[0], ends[1] - ends[0]};
        }
        *score = ((const double *)r->views[4].buf)[r->row++];
        return isfinite(*score) ? 1 : -1;
    }
    for (;;) {
        while (at < r->end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
        if (at == r->end && !n) return 0;
        if (at == r->end || (*at == '\n' && n)) break;
        if (*at == '\n') { line = ++at; continue; }
        for (start = at; at < r->end && (unsigned char)*at > ' '; at++) is_ascii &= !(*at & 128);
        if (at == start || n == r->n_fields) return -1;
        fields[n++] = (Id){start, at - start};
    }
    if (n != r->n_fields) return -1;
    if (!is_ascii) {
        PyObject *text = PyUnicode_DecodeUTF8(line, at - line, NULL);
        if (!text) return -1;
        Py_DECREF(text);
    }
    r->at = at + (at < r->end);
    *query = fields[0];
    *doc = fields[2];
    return decimal(fields[r->number_at], score) ? 1 : -1;
}

/* Reads the adjoining rows of a query: 1, or 0 at the end, or -1 where they are irregular. */
static int take_rows(Ranking *r, PyObject **name) {
    Id query = {0}, own, doc;
    double score;
    for (r->n = 0;; r->n++) {
        const char *at = r->at;
        Py_ssize_t row = r->row;
        int status = next(r, &own, &doc, &score);
        if (status < 0 || !has_room(r, r->n)) return -1;
        if (!status || (r->n && compare(own, query))) { /* It is read again. */
            r->at = at;
            r->row = row;
            if (!r->n) return 0;
            *name = PyUnicode_DecodeUTF8(query.at, query.size, "surrogatepass");
            return *name ? 1 : -1;
        }
        query = own;
        r->docs[r->n].id = doc;
        r->scores[r->n] = r->is_float32 ? (float)score : score;
    }
}

/* Takes (text, n_fields, number_at); or columns of text, where each id begins, and of numbers. */
static int open_rows(Ranking *r, PyObject *rows) {
    Py_buffer *v = r->views;
    if (PyTuple_GET_SIZE(rows) == 5)
        return PyArg_ParseTuple(rows, "y*y*y*y*y*", &v[0], &v[1], &v[2], &v[3], &v[4])
               && v[1].len >= v[4].len + 8 && v[3].len >= v[4].len + 8;
    if (!PyArg_ParseTuple(rows, "y*ii", &v[0], &r->n_fields, &r->number_at)) return 0;
    r->at = v[0].buf;
    r->end = r->at + v[0].len;
    return r->n_fields <= MOST_FIELDS && 0 < r->number_at && r->number_at < r->n_fields;
}

/* Returns a result, or None where there is none because of something irregular. */
static PyObject *finished(Ranking *r, PyObject *result) {
    for (int i = 0; i < 5; i++) PyBuffer_Release(&r->views[i]);
    PyMem_Free(r->scores);
    PyMem_Free(r->docs);
    PyMem_Free(r->found);
    PyMem_Free(r->slots);
    if (result || (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError))) return result;
    PyErr_Clear();
    Py_RETURN_NONE;
}

/* rank(judged, runs, places, ranked, lowest, is_float32) -> (queries, hits, grades) as bytes

   judged is a list of {document: grade}, runs of {document: score}. Or runs are rows, places the
   place in judged of each query, and ranked a dictionary that gets the queries of the rows. */
static PyObject *rank(PyObject *self, PyObject *args) {
    PyObject *judged, *runs, *places, *ranked, *queries = 0, *hits = 0, *grades = 0, *name;
    Ranking r = {0};
    Py_ssize_t n_hits = 0;
    if (!PyArg_ParseTuple(args, "O!OO!O!ip", &PyList_Type, &judged, &runs, &PyDict_Type, &places,
                          &PyDict_Type, &ranked, &r.lowest, &r.is_float32)) return NULL;
    int is_rows = PyTuple_Check(runs), status = is_rows ? open_rows(&r, runs) : PyList_Check(runs);
    if (!status || !take_judged(judged, &queries, &hits, &grades)) status = -1;
    for (Py_ssize_t i = 0, q; status > 0; i++) {
        PyObject *run = NULL, *own;
        if (is_rows) {
            if ((status = take_rows(&r, &name)) <= 0) break;
            PyObject *place = PyDict_GetItemWithError(places, name);
            q = place ? PyLong_AsSsize_t(place) : -1;
            /* Where a query is there already, its rows do not adjoin. */
            if (PyDict_SetItem(ranked, name, Py_None) || PyDict_GET_SIZE(ranked) == i) status = -1;
            Py_DECREF(name);
        } else {
            if (i >= PyList_GET_SIZE(judged) || i >= PyList_GET_SIZE(runs)) break;
            run = PyList_GET_ITEM(runs, q = i);
            status = take_dict(&r, run) ? 1 : -1;
        }
        own = q >= 0 && q < PyList_GET_SIZE(judged) ? PyList_GET_ITEM(judged, q) : NULL;
        if (status < 0 || !find(&r, own, run)) status = -1;
        else if (own) {
            Query *query = (Query *)PyBytes_AS_STRING(queries) + q;
            query->hits_at = n_hits;
            rank_found(&r, query, (Hit *)PyBytes_AS_STRING(hits) + n_hits);
            n_hits += r.n_found;
        }
    }
    if (status >= 0 && !_PyBytes_Resize(&hits, n_hits * sizeof(Hit)))
        return finished(&r, Py_BuildValue("NNN", queries, hits, grades));
    Py_XDECREF(queries);
    Py_XDECREF(hits);
    Py_XDECREF(grades);
    return finished(&r, NULL);
}

/* nested(rows, is_grade) -> {query: {document: number}} */
static PyObject *nested(PyObject *self, PyObject *args) {
    PyObject *rows, *result = NULL, *name;
    Ranking r = {0};
    int is_grade, status = 1;
    if (!PyArg_ParseTuple(args, "O!p", &PyTuple_Type, &rows, &is_grade)) return NULL;
    if (!open_rows(&r, rows) || !(result = PyDict_New())) return finished(&r, NULL);
    while (status > 0 && (status = take_rows(&r, &name)) > 0) {
        PyObject *new = PyDict_New(), *own = new ? PyDict_SetDefault(result, name, new) : NULL;
        Py_DECREF(name);
        Py_XDECREF(new);
        for (Py_ssize_t i = 0; status > 0 && i < r.n; i++) {
            Py_ssize_t size = own ? PyDict_GET_SIZE(own) : 0;
            Id id = r.docs[i].id;
            double number = r.scores[i];
            if (is_grade && (number != rint(number) || fabs(number) > MAX_GRADE)) status = -1;
            PyObject *doc = PyUnicode_DecodeUTF8(id.at, id.size, "surrogatepass");
            PyObject *value = is_grade ? PyLong_FromDouble(number) : PyFloat_FromDouble(number);
            /* Where a document is there already, the size stays. */
            if (!own || !doc || !value || PyDict_SetItem(own, doc, value)
                || PyDict_GET_SIZE(own) == size) status = -1;
            Py_XDECREF(doc);
            Py_XDECREF(value);
        }
    }
    if (status < 0) Py_CLEAR(result);
    return finished(&r, result);
}

static double gain(const Measure *m, int32_t grade) {
    return m->is_exp ? ldexp(1, grade) - 1 : grade;
}

/* The definitions are those of single.py, and sums round term by term in the same order. */
static double value_of(const Measure *m, const Query *q, const Hit *hits, const int32_t *grades,
                       const double *log2_of) {
    int64_t k = m->cutoff ? m->cutoff : INT64_MAX, places = m->cutoff ? k : q->n_retrieved;
    int64_t n_relevant = 0, n_others = 0, n_judged = 0, n_found = 0, n_above = 0, first = 0;
    const int32_t *last = grades + q->n_judged - 1;
    double total = 0, best = 0;
    while (n_relevant < q->n_judged && last[-n_relevant] >= m->rel) n_relevant++;
    if (m->name == JUDGED ? !q->n_judged || !q->n_retrieved : !n_relevant) return NAN;
    if (!q->n_retrieved) return 0;
    if (m->name == RPREC) k = n_relevant;
    if (m->name == BPREF)
        while (n_relevant + n_others < q->n_judged && last[-n_relevant - n_others] >= 0) n_others++;
    int64_t bound = Py_MIN(n_others, n_relevant);
    for (; n_judged < q->n_hits && hits[n_judged].rank <= k; n_judged++) {
        Hit hit = hits[n_judged];
        if (hit.grade < m->rel) { n_above += hit.grade >= 0; continue; }
        if (!n_found++) first = hit.rank;
        if (m->name == AP) total += (double)n_found / hit.rank;
        if (m->name == NDCG) total += gain(m, hit.grade) / log2_of[hit.rank];
        double share = n_above ? (double)Py_MIN(n_above, n_relevant) / bound : 0;
        if (m->name == BPREF) total += 1 - share;
    }
    switch (m->name) {
    case P: return (double)n_found / places;
    case RECALL: case RPREC: return (double)n_found / n_relevant;
    case F1: return (double)(2 * n_found) / (places + n_relevant);
    case RR: return first ? 1.0 / first : 0;
    case AP: case BPREF: return total / n_relevant;
    case SUCCESS: return n_found > 0;
    case JUDGED: return (double)n_judged / Py_MIN(places, q->n_retrieved);
    }
    for (int64_t i = 0; i < Py_MIN(n_relevant, k); i++) best += gain(m, last[-i]) / log2_of[i + 1];
    return total / best;
}

/* measured(queries, hits, grades, measure, undefined, log2_of) -> (column, n, high, mid, low, rest)

   A measure is (name, rel, is_exp, cutoff or 0), log2_of of a rank the logarithm of the next. The
   sum of n numbers is three whole parts, at 2**-31, 2**-62 and 2**-93, if the rest is 0. */
static PyObject *measured(PyObject *self, PyObject *args) {
    PyObject *queries, *hits, *grades, *log2s, *column;
    Measure m;
    double undefined, left = 0;
    long long n = 0, parts[3] = {0};
    if (!PyArg_ParseTuple(args, "SSS(iipL)dS", &queries, &hits, &grades, &m.name, &m.rel, &m.is_exp,
                          &m.cutoff, &undefined, &log2s)) return NULL;
    Py_ssize_t n_queries = PyBytes_GET_SIZE(queries) / sizeof(Query);
    if (!(column = PyByteArray_FromStringAndSize(NULL, n_queries * sizeof(double)))) return NULL;
    for (Py_ssize_t i = 0; i < n_queries; i++) {
        const Query *q = (Query *)PyBytes_AS_STRING(queries) + i;
        double rest = value_of(&m, q, (Hit *)PyBytes_AS_STRING(hits) + q->hits_at,
                               (int32_t *)PyBytes_AS_STRING(grades) + q->grades_at,
                               (double *)PyBytes_AS_STRING(log2s));
        if (isnan(rest)) rest = undefined;
        ((double *)PyByteArray_AS_STRING(column))[i] = rest;
        if (isnan(rest)) continue;
        n++;
        for (int part = 0; part < 3; part++) {
            rest *= 2147483648.0;
            parts[part] += (int64_t)rest;
            rest -= (int64_t)rest;
        }
        left += rest;
    }
    return Py_BuildValue("NLLLLd", column, n, parts[0], parts[1], parts[2], left);
}

static PyMethodDef functions[] = {{"rank", rank, METH_VARARGS, NULL},
                                  {"nested", nested, METH_VARARGS, NULL},
                                  {"measured", measured, METH_VARARGS, NULL}, {NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernel", NULL, 0, functions};
PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&module); }
