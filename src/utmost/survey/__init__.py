"""Surveys under local privacy: forms of several questions, a page that randomises in the browser, a collector.

The total level of a form is divided among its questions. `write_page` makes a static page on which the respondent's
browser draws the response; a `Collector` checks and stores responses; `Form.estimate` gives frequencies with intervals
and cross-tables of two questions.
"""

from utmost.survey.collector import Collector, FormSite, read_collected
from utmost.survey.cross_table import CrossTable
from utmost.survey.form import Form, FormEstimate, form
from utmost.survey.respondent_page import write_page
from utmost.survey.results_page import results_page

__all__ = [
    "Collector",
    "CrossTable",
    "Form",
    "FormEstimate",
    "FormSite",
    "form",
    "read_collected",
    "results_page",
    "write_page",
]
